// What executions waited for in the last hours, summed by action, user or gate, with the share of waits that is known.
import { withQuery } from "../api/calls.js";
import { html, useMemo, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { duration, nowMs } from "../times.js";
import { count, plural } from "../words.js";
import { Card } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

const HOUR_MS = 3_600_000;
const SPANS = [[24, "last day"], [7 * 24, "last week"], [30 * 24, "last 30 days"]];
const BY = [["action", "Action"], ["user", "User"], ["gate", "Gate"]];
const TOLD = 4;

export function WaitedSums() {
  const [by, setBy] = useState("action");
  const [hours, setHours] = useState(24);
  const path = useMemo(() => withQuery("/waits", { by, from: new Date(nowMs() - hours * HOUR_MS).toISOString() }), [by, hours]);
  // Sums of hours: what happens now changes little of them.
  const { data, problem } = useResource(path, { concerns: () => false, everyMs: 30_000 });
  const heading = BY.find(([name]) => name === by)[1];
  return html`
    <${Card} title="What was waited for" note="by executions whose waits have ended, from the ledger">
      <form class="form" onSubmit=${(event) => event.preventDefault()}>
        <label>Summed by<select value=${by} onChange=${(event) => setBy(event.target.value)}>
          ${BY.map(([name, text]) => html`<option value=${name}>${text}</option>`)}</select></label>
        <label>Ended in the<select value=${hours} onChange=${(event) => setHours(Number(event.target.value))}>
          ${SPANS.map(([number, text]) => html`<option value=${number}>${text}</option>`)}</select></label>
      </form>
      <${Trouble} problem=${problem} />
      ${data?.by === by && html`<${Sums} data=${data} heading=${heading} />`}
    <//>`;
}

function Sums({ data, heading }) {
  if (!data.waits) return html`<p class="faint table-note">No wait has ended.</p>`;
  return html`
    <div class="scroll table-note flush" tabindex="0" role="region" aria-label="What was waited for"><table class="rows">
      <thead><tr><th scope="col">${heading}</th><th scope="col" class="number" title="How long, all waits together">Waited</th>
        <th scope="col" class="number" title="How many waits">Waits</th><th scope="col">For what</th></tr></thead>
      <tbody>${data.sums.map((each) => html`<tr key=${each.name ?? ""} data-row=${`waited:${each.name ?? ""}`}>
        <td class="text" data-label=${heading}>${each.name ?? html`<span class="faint">all others</span>`}</td>
        <td class="number" data-label="Waited">${duration(each.ms)}</td>
        <td class="number" data-label="Waits">${count(each.waits)}</td>
        <td class="text" data-label="For what">${parts(each)}</td>
      </tr>`)}</tbody></table></div>
    ${covered(data).map((text) => html`<p class="faint table-note">${text}</p>`)}`;
}

function parts(each) {
  const told = each.parts.slice(0, TOLD).map((part) => `${duration(part.ms)} ${why(part)}`);
  const restMs = each.parts.slice(TOLD).reduce((all, part) => all + part.ms, 0);
  if (restMs) told.push(`${duration(restMs)} for other causes`);
  return told.join("; ");
}

function why({ cause, behind }) {
  switch (cause) {
    case "delay": return "until due";
    case "pause": return behind === null ? "paused" : `while ${behind === "*" ? "everything" : behind} was paused`;
    case "rate": return behind === null ? "for the rate of a gate" : `for the rate of ${behind}`;
    case "gate": return behind === null ? "for a full gate" : `behind ${behind}`;
    case "lane": return behind === null ? "for a slot of a lane" : `for a slot of ${behind}`;
    case "everything": return "for a slot of any lane";
    default: return "for a thread";
  }
}

function covered({ waits, summed, sampled, incomplete }) {
  const told = [];
  if (summed < waits) {
    told.push(`The sums are those of ${count(summed)} of ${plural(waits, "wait")} (${((100 * summed) / waits).toFixed(1)} %).`);
  }
  if (incomplete) told.push(`Too little is known of ${plural(incomplete, "wait")}.`);
  if (sampled) told.push(`${plural(sampled, "wait")} of these are estimated from a sample of moments.`);
  return told;
}
