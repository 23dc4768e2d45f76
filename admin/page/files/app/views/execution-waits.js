// What an execution waited for before each of its attempts: at each instant one cause, and the parts sum to the wait.
import { html } from "../lib.js";
import { href } from "../route.js";
import { duration } from "../times.js";
import { count, plural } from "../words.js";
import { Card } from "../parts/basics.js";

const NAMED = 3;

export function Waited({ waits }) {
  const { data } = waits;
  const told = (data?.waits ?? []).filter((each) => each.ms > 0);
  // What is wrong with the ledger is said beside the timeline.
  if (!told.length) return null;
  const sampled = told.some((each) => each.sampled);
  return html`
    <${Card} title="What it waited for" kind="waited"
      note="${duration(told.reduce((all, each) => all + each.ms, 0))} in all">
      ${told.map((wait) => html`
        <p title="From the ledger: at each instant the first cause that admission would have met"
          >${data.waits.length > 1 && html`<span class="faint">Attempt ${wait.attempt}, ${duration(wait.ms)}:</span> `}
          ${wait.parts.map((part, at) => html`${at > 0 && "; "}<b>${duration(part.ms)}</b> ${why(part)}`)}</p>`)}
      ${sampled && html`<p class="faint">There is too much history to read all of it: this is estimated from a sample of moments.</p>`}
      ${!data.complete && html`<p class="faint">There were earlier waits, or the ledger has not written of all of them yet.</p>`}
    <//>`;
}

function why(part) {
  switch (part.cause) {
    case "delay": return "until it was due";
    case "pause": return `while ${part.name === "*" ? "everything" : part.name} was paused`;
    case "rate": return `for the rate of ${part.name}`;
    case "gate": return html`behind ${part.name}${held(part)}`;
    case "lane": return html`for a slot of lane ${part.name}${held(part)}`;
    case "everything": return html`for a slot of any lane${held(part)}`;
    default: {
      const ahead = part.started_ahead;
      return `for a thread${ahead ? `, ${count(ahead)} began before it` : ""}`;
    }
  }
}

function held(part) {
  if (!part.holder_count) return `, whose limit was ${count(part.limit)}`;
  const named = part.holders.slice(0, NAMED);
  const others = part.holder_count - named.length;
  const texts = named.map(({ execution_id: id }) => html`<a href=${href(["executions", id])}>${id}</a>`);
  if (others) texts.push(plural(others, "other"));
  return html`, held by ${texts.map((text, at) => html`${at === 0 ? "" : at === texts.length - 1 ? " and " : ", "}${text}`)}`;
}
