// The keyboard: "/" searches, "j" and "k" move in a list, Enter opens, "?" helps, "g" and a letter go to a view.
import { go } from "./route.js";

export const GOES = { n: "now", e: "executions", a: "actions", d: "dead", c: "schedules", q: "queues", s: "settings", u: "audit", t: "tokens" };
const ROW = "[data-row]";
let isGoing = false;

export function startKeys(onHelp) {
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (act(event.key, onHelp)) event.preventDefault();
  });
}

function act(key, onHelp) {
  if (isGoing) {
    isGoing = false;
    if (GOES[key]) go([GOES[key]]);
    return Boolean(GOES[key]);
  }
  if (key === "?") onHelp();
  else if (key === "/") search();
  else if (key === "j") move(1);
  else if (key === "k") move(-1);
  else if (key === "g") isGoing = true;
  else return false;
  return true;
}

function search() {
  const field = document.querySelector("[data-search]");
  if (field) {
    field.focus();
    field.select();
    return;
  }
  go(["executions"]);
  setTimeout(() => document.querySelector("[data-search]")?.focus(), 50);
}

function move(by) {
  const rows = [...document.querySelectorAll(ROW)];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement.closest?.(ROW));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  const target = rows[next].querySelector("a, button") ?? rows[next];
  target.focus();
}
