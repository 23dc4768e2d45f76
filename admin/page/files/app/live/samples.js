// What this browser saw since the page was opened: how much waited and ran every two seconds, what started and ended.
// It is kept while one goes from view to view, for an hour at most; the server keeps none of it.
import { get } from "../api/calls.js";
import { signal } from "../signal.js";
import { nowMs } from "../times.js";
import { BANDS, quantile } from "../words.js";
import { onNews } from "./feed.js";

const EVERY_MS = 2000;
const MOST = 1800;
const RECENT_MS = 300_000;
const MOST_WAITS = 5000;

// { at, byBand, depth, active, limit, scheduled, dead, lanes, verdicts }; the latest is last.
export const samples = signal([]);
export const samplesProblem = signal(null);
let counted = [];
let timer = null;

async function look(caller) {
  if (!caller.may("operate")) {
    const queue = await get("/executions/queue");
    return {
      byBand: queue.by_priority, depth: queue.queue_depth, active: queue.active_count, limit: queue.max_concurrent,
      scheduled: queue.scheduled_count, dead: queue.dead_count, own: queue.own_waiting, lanes: null,
      verdicts: queue.verdicts,
    };
  }
  const [{ lanes }, queue] = await Promise.all([get("/lanes"), get("/executions/queue")]);
  const sum = (of) => lanes.reduce((all, lane) => all + of(lane), 0);
  // A lane that nobody asks for and that is empty takes no part.
  const limits = lanes.filter((lane) => lane.live || lane.executions).map((lane) => lane.bounds.max_concurrent_executions ?? null);
  return {
    byBand: Object.fromEntries(BANDS.map((band) => [band, sum((lane) => lane.by_priority[band] ?? 0)])),
    depth: sum((lane) => lane.queue_depth), active: sum((lane) => lane.active_count),
    limit: limits.some((each) => each === null) ? null : limits.reduce((all, each) => all + each, 0),
    scheduled: sum((lane) => lane.scheduled_count), dead: queue.dead_count, lanes,
    verdicts: queue.verdicts,
  };
}

export function startSampling(caller) {
  let isEnded = false;
  samples.set([]);
  counted = [];
  async function sample() {
    if (!document.hidden) {
      try {
        const found = await look(caller);
        if (isEnded) return;
        samples.set([...samples.get(), { at: nowMs(), ...found }].slice(-MOST));
        samplesProblem.set(null);
      } catch (problem) {
        samplesProblem.set(problem);
      }
    }
    if (!isEnded) timer = setTimeout(sample, EVERY_MS);
  }
  sample();
  const forget = onNews(count);
  return () => {
    isEnded = true;
    clearTimeout(timer);
    forget();
  };
}

function count(news) {
  const now = Date.now();
  counted.push({ at: now, started: news.started, ended: news.ended, waits: news.waits });
  while (counted.length && now - counted[0].at > RECENT_MS) counted.shift();
}

// Of the last five minutes, or since the page was opened: per second, and how long what started had waited.
export function recent() {
  const since = Math.max(performance.timeOrigin, Date.now() - RECENT_MS);
  const seconds = Math.max(1, (Date.now() - since) / 1000);
  const waits = counted.flatMap((each) => each.waits).slice(-MOST_WAITS).sort((one, other) => one - other);
  return {
    seconds,
    startedPerSecond: counted.reduce((all, each) => all + each.started, 0) / seconds,
    endedPerSecond: counted.reduce((all, each) => all + each.ended, 0) / seconds,
    medianMs: quantile(waits, 0.5),
    p95Ms: quantile(waits, 0.95),
    waits: waits.length,
  };
}
