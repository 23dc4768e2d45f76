// The state of the installation in sentences, the worst first. Each says what is so, and where that leads.
import { duration, nowMs } from "./times.js";
import { count, plural } from "./words.js";

const OLD_MS = 1_800_000;
const MOST_GATES = 4;

// Returns [kind, text, where to] for each; `kind` is "bad", "warn", "good" or "".
export function sentences({ sample, gates, oldest }) {
  const found = [...ofProcesses(sample), ...ofGates(gates), ...ofLimits(sample), ...ofAges(oldest)];
  if (sample.dead) {
    found.push(["warn", `${plural(sample.dead, "dead letter")} ${sample.dead === 1 ? "waits" : "wait"} for somebody to look.`, ["dead"]]);
  }
  if (found.length) return found.sort((one, other) => rank(one[0]) - rank(other[0]));
  if (sample.depth) return [["good", `${count(sample.depth)} wait and ${count(sample.active)} run: nothing but their turn holds them back.`]];
  if (sample.active) return [["good", `${count(sample.active)} run, and nothing waits.`]];
  return [["good", "Nothing waits and nothing runs."]];
}

const rank = (kind) => ["bad", "warn", "", "good"].indexOf(kind);

function ofProcesses({ lanes, leader }) {
  const found = [];
  if (leader === null) {
    found.push(["warn", "No scheduler leads: workers repair by themselves, but nothing periodic is done. Is the process `scheduler` running?"]);
  }
  for (const lane of lanes ?? []) {
    if (!lane.live && lane.queue_depth) {
      const asked = lane.asked_seconds_ago === null ? "none ever did" : `the last did ${duration(lane.asked_seconds_ago * 1000)} ago`;
      found.push(["bad", `No worker asks for lane ${lane.lane} (${asked}), and ${plural(lane.queue_depth, "execution waits", "executions wait")} in it. Start a worker.`]);
    }
  }
  return found;
}

function ofGates(gates) {
  const found = [];
  for (const { gate, limit, held, waiting, paused } of gates ?? []) {
    if (paused) {
      const what = gate === "*" ? "Everything" : named(gate);
      found.push([waiting || gate === "*" ? "bad" : "warn", `${what} is paused: ${waiting ? `${plural(waiting, "execution waits", "executions wait")} for it` : "what runs goes on, and nothing starts"}.`, ["actions"]]);
    } else if (limit !== null && held !== null && held >= limit && waiting) {
      found.push(["", `${named(gate)}: limit ${count(limit)} reached, ${plural(waiting, "execution waits", "executions wait")} for it.`, ["actions"]]);
    }
  }
  return found.slice(0, MOST_GATES);
}

function ofLimits({ lanes, depth, active, limit }) {
  if (!lanes) return depth && limit !== null && active >= limit ? [["", `All ${count(limit)} slots of lane executions are taken; ${count(depth)} wait.`]] : [];
  return lanes.flatMap((lane) => {
    const found = [];
    const most = lane.bounds.max_concurrent_executions ?? null;
    const longest = lane.bounds.max_queue_size ?? null;
    if (most !== null && lane.active_count >= most && lane.queue_depth) {
      found.push(["", `All ${count(most)} slots of lane ${lane.lane} are taken; ${count(lane.queue_depth)} wait.`]);
    }
    if (longest && lane.queue_depth > longest / 2) {
      const share = Math.round((100 * lane.queue_depth) / longest);
      found.push([share > 90 ? "bad" : "warn", `The queue of lane ${lane.lane} is ${share} % full (${count(lane.queue_depth)} of ${count(longest)}); at 100 % it refuses.`]);
    }
    return found;
  });
}

function ofAges(oldest) {
  if (!oldest) return [];
  const ms = nowMs() - Date.parse(oldest.at);
  return ms > OLD_MS ? [["warn", `The oldest of action ${oldest.action} has waited for ${duration(ms)}.`, ["executions"]]] : [];
}

export function named(gate) {
  const colon = gate.indexOf(":");
  if (gate === "*") return "everything";
  return colon < 0 ? `Gate ${gate}` : `${gate[0].toUpperCase()}${gate.slice(1, colon)} ${gate.slice(colon + 1)}`;
}
