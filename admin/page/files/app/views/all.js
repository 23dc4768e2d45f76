// Which view an address shows.
import { Actions } from "./actions.js";
import { Audit } from "./audit.js";
import { DeadLetters } from "./dead.js";
import { Execution } from "./execution.js";
import { Executions } from "./executions.js";
import { Now } from "./now.js";
import { Schedules } from "./schedules.js";
import { Settings } from "./settings.js";
import { Tokens } from "./tokens.js";

const VIEWS = {
  now: Now, executions: Executions, actions: Actions, dead: DeadLetters,
  schedules: Schedules, settings: Settings, audit: Audit, tokens: Tokens,
};

export function viewOf({ parts: [name, id] }) {
  if (name === "executions" && id) return [Execution, { id }];
  return [VIEWS[name] ?? Now, {}];
}
