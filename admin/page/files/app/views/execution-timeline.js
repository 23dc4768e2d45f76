// What became of an execution over time: its attempts as a bar, and each step.
import { html } from "../lib.js";
import { useSignal } from "../signal.js";
import { absolute, duration, nowMs, second } from "../times.js";
import { TERMINAL } from "../words.js";
import { Card } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

const SAID = {
  park: "accepted", promote: "due", admit: "granted a slot", hand_over: "handed over to its pod", release: "ended",
  retry: "failed, waits again", hand_back: "given back before it began", reap: "lease ran out", lose: "its event was gone",
  expire: "waited for too long", cancel: "cancelled", remove: "removed by force", restore: "restored from the ledger",
  reprioritise: "moved to another priority", bury: "kept as a dead letter", tell: "its end was reported",
  drop: "dead letter dropped", forget: "forgotten by the server",
};
const KINDS = { SCHEDULED: "scheduled", PENDING: "waits", RUNNING: "starts", POD: "runs", CANCELLING: "ends" };
const LEGEND = {
  scheduled: "not yet due", waits: "waits", starts: "in a worker's thread", runs: "in its pod", ends: "asked to end",
};

// Stretches of time in one state each.
export function stretches(steps, now) {
  const found = [];
  for (const step of steps) {
    const at = Date.parse(step.at);
    const last = found.at(-1);
    if (last) last.until = Math.max(last.from, at);
    const kind = KINDS[step.state];
    if (kind && last?.kind === kind && last.attempt === step.attempt) last.until = null;
    else if (kind) found.push({ kind, from: at, until: null, attempt: step.attempt });
  }
  const last = found.at(-1);
  if (last && last.until === null) last.until = Math.max(last.from, now);
  return found;
}

export function Attempts({ execution, timeline }) {
  useSignal(second);
  const { data, problem } = timeline;
  const steps = data?.steps ?? [];
  const parts = stretches(steps, TERMINAL.has(execution.state) ? Date.parse(execution.ended_at) : nowMs());
  const total = parts.length ? parts.at(-1).until - parts[0].from : 0;
  return html`
    <${Card} title="Timeline" note=${total ? `${duration(total)} in all` : ""}>
      <${Trouble} problem=${problem} kind="notice" />
      ${total > 0 && html`
        <div class="bar" role="img" aria-label=${spoken(parts)}>
          ${parts.map((each) => html`
            <i class=${each.kind} style=${{ flexGrow: Math.max(each.until - each.from, total / 200) }}
              title="${LEGEND[each.kind]}: ${duration(each.until - each.from)}${each.attempt ? `, attempt ${each.attempt}` : ""}"></i>`)}
        </div>
        <ul class="legend">
          ${Object.entries(LEGEND).filter(([kind]) => parts.some((each) => each.kind === kind)).map(([kind, text]) => html`
            <li><i class=${kind} aria-hidden="true"></i>${text} <b>${duration(sum(parts, kind))}</b></li>`)}
        </ul>`}
      <ol class="steps">
        ${steps.map((step) => html`
          <li><time datetime=${step.at} title=${absolute(step.at)}>+ ${duration(Date.parse(step.at) - Date.parse(steps[0].at))}</time>
            <span>${SAID[step.verb] ?? step.verb}${step.attempt ? html` <small class="faint">attempt ${step.attempt}</small>` : ""}
              ${step.reason && html` <small>${step.reason}</small>`}${step.by && html` <small>by ${step.by}</small>`}
              ${step.verb === "admit" && step.details.waited_ms !== undefined
                && html` <small class="faint">after ${duration(Number(step.details.waited_ms))}</small>`}
            </span></li>`)}
      </ol>
      ${data && !data.complete && html`<p class="faint">These are the latest thousand steps.</p>`}
      ${data && !steps.length && html`<p class="faint">The ledger has not written of it yet.</p>`}
    <//>
  `;
}

const sum = (parts, kind) => parts.filter((each) => each.kind === kind).reduce((all, each) => all + each.until - each.from, 0);
const spoken = (parts) => parts.map((each) => `${LEGEND[each.kind]} ${duration(each.until - each.from)}`).join(", then ");
