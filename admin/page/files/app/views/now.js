// How it stands now: in words, in figures, over time, and what holds most back.
import { get, part } from "../api/calls.js";
import { html, useEffect, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { recent, samples, samplesProblem } from "../live/samples.js";
import { href } from "../route.js";
import { useSignal } from "../signal.js";
import { sentences } from "../state-in-words.js";
import { duration, nowMs, second } from "../times.js";
import { count, ofLimit } from "../words.js";
import { Card, Code, Empty, Figure, Meter } from "../parts/basics.js";
import { Chart } from "../parts/chart.js";
import { Opens } from "../parts/rate.js";
import { Trouble } from "../parts/trouble.js";
import { Servers } from "./servers.js";

const FOREMOST_ACTIONS = 5;

export function Now({ caller }) {
  const seen = useSignal(samples);
  const problem = useSignal(samplesProblem);
  const gates = useResource("/gates");
  const actions = useResource("/actions");
  const { oldest, verdicts } = useForemost(actions.data?.actions);
  const sample = seen.at(-1);
  const isFresh = actions.data && !actions.data.actions.length;
  return html`
    <h1>Now</h1>
    <${Trouble} problem=${problem} />
    ${sample && html`
      ${isFresh ? html`<${First} />`
        : html`<ul class="words" aria-label="The state in words">
          ${sentences({ sample, gates: gates.data?.gates, verdicts: [...sample.verdicts, ...verdicts] }).map(([kind, text, to]) => html`
            <li class=${kind}>${text}${to && html` <a href=${href(to)}>Look</a>`}</li>`)}
        </ul>`}
      <${Card} kind="big"><${Figures} sample=${sample} oldest=${oldest} caller=${caller} /><//>
      <${Card} title="Since you opened this page" note="what this browser saw, every two seconds; an hour at most">
        <${Chart} samples=${seen} />
      <//>
      <div class="columns">
        <${Gates} gates=${gates} />
        ${sample.lanes && html`<${Lanes} lanes=${sample.lanes} />`}
      </div>`}
    <${Servers} />
  `;
}

// The API tells the oldest of each action, and what is to be said of it; those that have most waiting are asked for.
function useForemost(actions) {
  const [foremost, setForemost] = useState({ oldest: null, verdicts: [] });
  const names = (actions ?? []).filter((each) => each.queue_length).sort((one, other) => other.queue_length - one.queue_length)
    .slice(0, FOREMOST_ACTIONS).map((each) => each.action).join("\n");
  useEffect(() => {
    let isEnded = false;
    async function look() {
      if (document.hidden) return;
      const found = await Promise.all(names.split("\n").filter(Boolean).map(async (action) => {
        const stats = await get(`/actions/${part(action)}/queue-stats`).catch(() => null);
        return { action, at: stats?.oldest_enqueued_at ?? null, verdicts: stats?.verdicts ?? [] };
      }));
      if (isEnded) return;
      const oldest = found.filter((each) => each.at).sort((one, other) => (one.at < other.at ? -1 : 1))[0] ?? null;
      setForemost({ oldest, verdicts: found.flatMap((each) => each.verdicts) });
    }
    look();
    const timer = setInterval(look, 5000);
    document.addEventListener("visibilitychange", look);
    return () => {
      isEnded = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [names]);
  return foremost;
}

function Figures({ sample, oldest, caller }) {
  useSignal(second);
  const of = recent();
  const window = `of the last ${duration(of.seconds * 1000)}`;
  const whose = caller.may("operate") ? "" : " of your executions";
  return html`
    <dl class="figures">
      <${Figure} label="Waiting" value=${count(sample.depth)} how=${`Executions that are due and wait${sample.lanes ? ", in all lanes" : ", in lane executions"}; counted by Redis`} />
      ${sample.own !== undefined && html`<${Figure} label="Yours" value=${count(sample.own)} of="waiting" how="Your executions that wait in lane executions" />`}
      <${Figure} label="Running" value=${count(sample.active)} of=${ofLimit(sample.active, sample.limit).replace(/^\S+ /, "")}
        how="Executions that hold a slot, of the slots that there may be (max_concurrent_executions)" />
      <${Figure} label="Oldest wait" value=${oldest ? duration(nowMs() - Date.parse(oldest.at)) : "–"} of=${oldest?.action}
        how=${`How long the oldest one waits that is due; looked for among the ${FOREMOST_ACTIONS} actions with most waiting`} />
      <${Figure} label="Scheduled" value=${count(sample.scheduled)} how="Executions that are not yet due" />
      <${Figure} label="Started" value=${of.startedPerSecond.toFixed(2)} unit="/ s" how=${`Grants of a slot${whose} that this browser was told of, ${window}`} />
      <${Figure} label="Ended" value=${of.endedPerSecond.toFixed(2)} unit="/ s" how=${`Ends${whose} that this browser was told of, ${window}`} />
      <${Figure} label="Median wait" value=${duration(of.medianMs)} how=${`Half of the ${count(of.waits)} that started${whose} had waited no longer; ${window}`} />
      <${Figure} label="p95 wait" value=${duration(of.p95Ms)} how=${`95 of 100 that started${whose} had waited no longer; ${window}`} />
    </dl>`;
}

// A weight holds nothing back.
const mayHold = (each) => each.limit !== null || each.rate !== null || each.paused;

function Gates({ gates: { data, problem } }) {
  const rows = (data?.gates ?? []).filter(mayHold).slice(0, 12);
  return html`
    <${Card} title="Gates" note="the most blocked first">
      <${Trouble} problem=${problem} />
      ${data && !rows.length && html`<p class="faint">No gate has a limit, a rate or a pause. <a href=${href(["actions"])}>Set one</a>, and at most so many run at once, or start in a time.</p>`}
      ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Gates"><table>
        <thead><tr><th scope="col">Gate</th><th scope="col" class="number" title="Executions that hold it, of those that may">Held</th>
          <th scope="col"><span class="hidden">Share</span></th>
          <th scope="col" title="At most so many start in a time">Rate</th>
          <th scope="col" class="number" title="Executions that found it closed">Waiting</th></tr></thead>
        <tbody>${rows.map((each) => html`
          <tr key=${each.gate}><td class="text">${each.gate === "*" ? "everything" : each.gate} ${each.paused && html`<span class="badge state-dead">paused</span>`}</td>
            <td class="number">${each.held === null ? "–" : count(each.held)} / ${each.limit === null ? "∞" : count(each.limit)}</td>
            <td>${each.held !== null && each.limit !== null && html`<${Meter} held=${each.held} limit=${each.limit} label=${ofLimit(each.held, each.limit)} />`}</td>
            <td class="text">${each.rate ?? "–"}<${Opens} load=${each} /></td>
            <td class="number">${count(each.waiting)}</td></tr>`)}
        </tbody></table></div>`}
    <//>`;
}

function Lanes({ lanes }) {
  return html`
    <${Card} title="Lanes" note="and whether workers ask for them">
      <div class="scroll" tabindex="0" role="region" aria-label="Lanes"><table>
        <thead><tr><th scope="col">Lane</th><th scope="col" title="Each worker that lives asks for its lanes every second">Workers</th>
          <th scope="col" class="number">Running</th><th scope="col" class="number">Waiting</th></tr></thead>
        <tbody>${lanes.map((each) => html`
          <tr key=${each.lane}><td class="text">${each.lane}${each.fair_by && html` <small class="faint" title="Within each priority, ${each.fair_by}s take turns in it">fair by ${each.fair_by}</small>`}</td>
            <td title=${each.asked_seconds_ago === null ? "No worker ever asked for it" : `Asked for ${duration(each.asked_seconds_ago * 1000)} ago`}>
              <span class="badge ${each.live ? "state-COMPLETED" : "state-PENDING"}">${each.live ? "ask for it" : "none asks"}</span></td>
            <td class="number">${ofLimit(each.active_count, each.bounds.max_concurrent_executions ?? null)}</td>
            <td class="number">${count(each.queue_depth)}</td></tr>`)}
        </tbody></table></div>
    <//>`;
}

function First() {
  return html`<${Empty} title="It runs, and nothing was sent to it yet.">
    <p>Send the first execution, and look at it here:</p>
    <${Code}>bandmaster submit --priority high -- echo hello<//>
  <//>`;
}
