// One execution: what became of it, what it waits for, what it runs and prints; and what the caller may do to it.
import { part } from "../api/calls.js";
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { useSignal } from "../signal.js";
import { duration, nowMs, second } from "../times.js";
import { TERMINAL, WAITING, count, plural } from "../words.js";
import { Band, Card, Figure, StateBadge, Time } from "../parts/basics.js";
import { ranMs, waitedMs } from "../parts/execution-rows.js";
import { Trouble } from "../parts/trouble.js";
import { Buttons } from "./execution-buttons.js";
import { Log } from "./execution-log.js";
import { Runs } from "./execution-runs.js";
import { Attempts } from "./execution-timeline.js";
import { Waited } from "./execution-waits.js";

const READ_WITHIN_MS = 3000;

export function Execution({ id, caller }) {
  const path = `/executions/${part(id)}`;
  const concerns = (news) => news.many || news.ids.includes(id);
  const { data: execution, problem, reload } = useResource(path, { concerns, everyMs: 3000 });
  const lives = execution && !TERMINAL.has(execution.state);
  const timeline = useResource(`${path}/timeline`, { concerns, everyMs: lives ? 3000 : 30_000 });
  // Of one that has ended they are asked for once, as soon as the ledger should have read of its end.
  const isLast = (told) => !lives && Date.parse(told.as_of) - Date.parse(execution.ended_at ?? execution.accepted_at) > READ_WITHIN_MS;
  const waits = useResource(execution && `${path}/waits`, { concerns, everyMs: lives ? 10_000 : 30_000, isLast });
  const mayRead = execution && caller.mayRead(execution);
  return html`
    <p class="crumbs"><a href=${href(["executions"])}>Executions</a></p>
    <h1 class="id">${id}</h1>
    <${Trouble} problem=${problem} />
    ${execution && html`
      <div class="heading">
        <${StateBadge} execution=${execution} /> <${Band} name=${execution.priority} />
        <span class="faint">${execution.reason}</span>
        <${Buttons} execution=${execution} caller=${caller} path=${path} reload=${reload} />
      </div>
      <${Waits} execution=${execution} />
      <${Facts} execution=${{ ...execution, started_at: execution.started_at ?? startOf(timeline.data) }} />
      <${Waited} waits=${waits} />
      <${Attempts} execution=${execution} timeline=${timeline} />
      ${mayRead
        ? html`<${Log} path=${path} /><${Runs} path=${path} />`
        : html`<${Card} title="What it runs and prints"><p class="faint">Shown to its owner and to admins.</p><//>`}
    `}
  `;
}

// Redis keeps no time of the start: the ledger does.
function startOf(timeline) {
  return timeline?.steps.findLast((step) => step.verb === "hand_over")?.at ?? null;
}

function Waits({ execution }) {
  if (!WAITING.has(execution.state)) return null;
  const { position, eta_seconds: eta, waits_for: reasons } = execution;
  return html`
    <${Card} title="Why it waits" kind="waits">
      ${reasons.length ? html`<ul>${reasons.map((each) => html`<li>${each}</li>`)}</ul>`
        : html`<p>Nothing holds it back: a worker's thread takes it next.</p>`}
      <dl class="figures">
        ${position !== null && html`<${Figure} label="Place" value=${count(position + 1)}
          of=${`${plural(position, "waits", "wait")} before it`}
          how="How many of its lane come before it by priority, then by when they were accepted" />`}
        <${Figure} label="May begin" value=${eta === null ? "–" : `in ${duration(eta * 1000)}`}
          of=${eta === null ? "none of its action ended lately" : "an estimate"}
          how="As many of its action as were accepted before it, at the rate at which its action's executions ended in the last ten minutes" />
      </dl>
    <//>`;
}

function Facts({ execution: of }) {
  useSignal(second);
  const now = nowMs();
  return html`
    <dl class="figures">
      <${Figure} label="Accepted" value=${html`<${Time} at=${of.accepted_at} />`} how="By the clock of the Redis server" />
      <${Figure} label="Waited" value=${duration(waitedMs(of, now))}
        how="From when it was accepted, or due, until it was granted a slot; of the latest attempt" />
      <${Figure} label="Ran" value=${duration(ranMs(of, now))} how="From its start to its end, or until now; of the latest attempt" />
      <${Figure} label="Attempt" value=${count(of.attempt)} how="How often it was granted a slot" />
      <${Figure} label="Exit code" value=${of.exit_code ?? "–"} how="Of its program, as its pod told it" />
      <${Figure} label="Action" value=${of.action ?? "–"} how="What it counts as: limits, rates, pauses and figures are by action" />
      <${Figure} label="User" value=${of.user_id ?? "–"} how="Whose limit it counts against, and who may see it" />
      <${Figure} label="Lane" value=${of.lane ?? "–"} how="The queue of the workers that take it" />
      ${of.gates.length > 0 && html`<${Figure} label="Gates" value=${of.gates.join(", ")} how="What its sender named, besides action and user" />`}
      ${of.pod && html`<${Figure} label="Pod" kind="wide" value=${of.pod} how="Where the latest attempt ran" />`}
      ${of.due_at && html`<${Figure} label="Due" value=${html`<${Time} at=${of.due_at} />`} how="Not to begin before" />`}
      ${of.ended_at && html`<${Figure} label="Ended" value=${html`<${Time} at=${of.ended_at} />`} how="When its slot was free again" />`}
    </dl>`;
}
