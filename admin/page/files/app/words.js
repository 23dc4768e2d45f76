// Numbers and names as people read them.
export const BANDS = ["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND"];
export const STATES = [
  "SCHEDULED", "PENDING", "RUNNING", "POD", "CANCELLING", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "EXPIRED",
];
export const TERMINAL = new Set(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "EXPIRED"]);
export const WAITING = new Set(["SCHEDULED", "PENDING"]);

export const STATE_MEANS = {
  SCHEDULED: "not yet due",
  PENDING: "due, waiting for a slot and for its gates",
  RUNNING: "granted to a worker's thread",
  POD: "run by a pod",
  CANCELLING: "asked to end; it holds its slot until its pod or thread is gone",
  COMPLETED: "ended with success",
  FAILED: "ended with an error, or used up its attempts",
  TIMEOUT: "ran longer than its timeout",
  CANCELLED: "cancelled before or while it ran",
  EXPIRED: "waited longer than the stale timeout",
};

export const ITEM_STATUSES = ["NEW", "POSTPONED", "IN_PROGRESS", "DONE", "FAILED", "ABANDONED", "DELETED"];
export const ITEM_STATUS_MEANS = {
  NEW: "ready to be handed out",
  POSTPONED: "not to be handed out before a time",
  IN_PROGRESS: "held by a robot or an execution",
  DONE: "ended with success",
  FAILED: "wrong itself, or its tries are used up",
  ABANDONED: "three leases ended without an outcome",
  DELETED: "deleted, and kept until its time is over",
};

export const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const bytes = (number) => (number < 1_000_000 ? `${count(Math.ceil(number / 1000))} kB` : `${count(Math.round(number / 100_000) / 10)} MB`);
export const band = (name) => (name ? name[0] + name.slice(1).toLowerCase() : "–");
export const ofLimit = (number, limit) => `${count(number)} of ${limit === null ? "any number" : count(limit)}`;

// Of sorted numbers; null if there are none.
export function quantile(sorted, share) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null;
}
