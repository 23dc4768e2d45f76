// Times by the server's clock, as people read them.
import { signal } from "./signal.js";

let aheadMs = 0;
// Ticks once a second, so that relative times go on.
export const second = signal(0);

export function startClock() {
  setInterval(() => document.hidden || second.set(second.get() + 1), 1000);
}

export function setServerTime(text) {
  const ahead = Date.parse(text) - Date.now();
  // The way of an answer takes a while: only a clock that is wrong matters.
  aheadMs = Math.abs(ahead) > 2000 ? ahead : 0;
}

export const nowMs = () => Date.now() + aheadMs;

const two = (large, unit, small, unitOfSmall) => `${large} ${unit}${small ? ` ${small} ${unitOfSmall}` : ""}`;

export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return two(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return two(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return two(Math.floor(whole / 86400), "d", Math.floor((whole % 86400) / 3600), "h");
}

// One unit is enough for how long ago something was.
function rough(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function relative(text) {
  const ms = nowMs() - Date.parse(text);
  if (Math.abs(ms) < 1500) return "now";
  return ms > 0 ? `${rough(ms)} ago` : `in ${rough(-ms)}`;
}

// Of something to come: what is over by now, as the next answer will tell, is now.
export const upcoming = (text) => (Date.parse(text) > nowMs() ? relative(text) : "now");

export function absolute(text) {
  const date = new Date(text);
  const here = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return `${here} here; ${date.toISOString()}`;
}
