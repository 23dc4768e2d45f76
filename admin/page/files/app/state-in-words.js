// The state of the installation in sentences, the worst first. Each says what is so, and where that leads.
import { duration, upcoming } from "./times.js";
import { count, plural } from "./words.js";

const MOST_GATES = 4;
const KINDS = { critical: "bad", warning: "warn", info: "" };
const LEADS_TO = {
  dead_letters_grow: ["dead"], limit_reached: ["actions"], oldest_wait_long: ["executions"], no_progress: ["executions"],
};

// Returns [kind, text, where to] for each; `kind` is "bad", "warn", "good" or "". The verdicts are the API's: they have the
// numbers of the alerts, and tell of what has been so for some minutes. The others tell of this moment.
export function sentences({ sample, gates, verdicts }) {
  const isTold = (code, subject) => verdicts.some((each) => each.code === code && each.subject === subject);
  const found = [
    ...verdicts.map((each) => [KINDS[each.severity] ?? "", `${each.sentence}.`, LEADS_TO[each.code]]),
    ...ofWorkers(sample), ...ofGates(gates, isTold), ...ofSlots(sample, isTold),
  ];
  if (sample.dead && !isTold("dead_letters_grow", "")) {
    found.push(["warn", `${plural(sample.dead, "dead letter")} ${sample.dead === 1 ? "waits" : "wait"} for somebody to look.`, ["dead"]]);
  }
  if (found.length) return found.sort((one, other) => rank(one[0]) - rank(other[0]));
  if (sample.depth) return [["good", `${count(sample.depth)} wait and ${count(sample.active)} run: nothing but their turn holds them back.`]];
  if (sample.active) return [["good", `${count(sample.active)} run, and nothing waits.`]];
  return [["good", "Nothing waits and nothing runs."]];
}

const rank = (kind) => ["bad", "warn", "", "good"].indexOf(kind);

function ofWorkers({ lanes }) {
  const found = [];
  for (const lane of lanes ?? []) {
    if (!lane.live && lane.queue_depth) {
      const asked = lane.asked_seconds_ago === null ? "none ever did" : `the last did ${duration(lane.asked_seconds_ago * 1000)} ago`;
      found.push(["bad", `No worker asks for lane ${lane.lane} (${asked}), and ${plural(lane.queue_depth, "execution waits", "executions wait")} in it. Start a worker.`]);
    }
  }
  return found;
}

function ofGates(gates, isTold) {
  const found = [];
  for (const { gate, limit, held, waiting, paused, rate, opens_at } of gates ?? []) {
    if (paused) {
      const what = gate === "*" ? "Everything" : named(gate);
      found.push([waiting || gate === "*" ? "bad" : "warn", `${what} is paused: ${waiting ? `${plural(waiting, "execution waits", "executions wait")} for it` : "what runs goes on, and nothing starts"}.`, ["actions"]]);
    } else if (limit !== null && held !== null && held >= limit && waiting && !isTold("limit_reached", gate)) {
      found.push(["", `${named(gate)}: limit ${count(limit)} reached, ${plural(waiting, "execution waits", "executions wait")} for it.`, ["actions"]]);
    } else if (opens_at && waiting && !isTold("limit_reached", gate)) {
      found.push(["", `${named(gate)}: rate ${rate} reached, ${plural(waiting, "execution waits", "executions wait")} for it; the next one may start ${upcoming(opens_at)}.`, ["actions"]]);
    }
  }
  return found.slice(0, MOST_GATES);
}

function ofSlots({ lanes, depth, active, limit }, isTold) {
  const of = lanes ?? [{ lane: "executions", active_count: active, queue_depth: depth, bounds: { max_concurrent_executions: limit } }];
  return of.flatMap((lane) => {
    const most = lane.bounds.max_concurrent_executions ?? null;
    const isFull = most !== null && lane.active_count >= most && lane.queue_depth && !isTold("limit_reached", `lane:${lane.lane}`);
    return isFull ? [["", `All ${count(most)} slots of lane ${lane.lane} are taken; ${count(lane.queue_depth)} wait.`]] : [];
  });
}

export function named(gate) {
  const colon = gate.indexOf(":");
  if (gate === "*") return "everything";
  return colon < 0 ? `Gate ${gate}` : `${gate[0].toUpperCase()}${gate.slice(1, colon)} ${gate.slice(colon + 1)}`;
}
