// Which view an address shows.
import { Actions } from "./actions.js";
import { Audit } from "./audit.js";
import { DeadLetters } from "./dead.js";
import { Execution } from "./execution.js";
import { Executions } from "./executions.js";
import { Item } from "./item.js";
import { Now } from "./now.js";
import { Queue } from "./queue.js";
import { Queues } from "./queues.js";
import { Schedules } from "./schedules.js";
import { Settings } from "./settings.js";
import { Tokens } from "./tokens.js";
import { Trigger } from "./trigger.js";

const VIEWS = {
  now: Now, executions: Executions, actions: Actions, dead: DeadLetters,
  schedules: Schedules, queues: Queues, triggers: Queues, settings: Settings, audit: Audit, tokens: Tokens,
};

export function viewOf({ parts: [name, id, item] }) {
  if (name === "executions" && id) return [Execution, { id }];
  if (name === "queues" && item) return [Item, { queue: id, id: item }];
  if (name === "queues" && id) return [Queue, { name: id }];
  if (name === "triggers" && id) return [Trigger, { name: id }];
  return [VIEWS[name] ?? Now, {}];
}
