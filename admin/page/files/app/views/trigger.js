// One trigger: whether it starts anything, what it started last, and where it notifies.
import { part } from "../api/calls.js";
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { count } from "../words.js";
import { Card, Figure, Time } from "../parts/basics.js";
import { Notifications } from "../parts/notifications.js";
import { Trouble } from "../parts/trouble.js";
import { TriggerState, Turn } from "./triggers.js";

export function Trigger({ name, caller }) {
  const { data: trigger, problem, reload } = useResource(`/triggers/${part(name)}`, { concerns: () => false, everyMs: 3000 });
  return html`
    <p class="crumbs"><a href=${href(["queues"])}>Queues and triggers</a></p>
    <div class="heading"><h1>${name}</h1>
      ${trigger && html`<${TriggerState} trigger=${trigger} />`}
      ${trigger && caller.may("admin") && html`<${Turn} trigger=${trigger} reload=${reload} />`}</div>
    <${Trouble} problem=${problem} />
    ${trigger && html`
      ${trigger.last_error && html`<div class="trouble"><b>Its last firing could not be sent.</b> <span>${trigger.last_error}</span></div>`}
      <${Facts} trigger=${trigger} />
      <${Card} title="What it started last">
        ${trigger.executions.length ? html`<${Started} executions=${trigger.executions} />` : html`<p class="faint">Nothing yet.</p>`}
      <//>
      <${Notifications} subject="trigger" of=${trigger} />`}
  `;
}

function Facts({ trigger }) {
  return html`
    <dl class="figures">
      <${Figure} label="Fires next" value=${html`<${Time} at=${trigger.next_fire_at} none="never" />`} how="Or looks for items, if as few of its executions live as may" />
      ${trigger.backoff_until && html`<${Figure} label="Backs off until" value=${html`<${Time} at=${trigger.backoff_until} />`} how="Its last firing could not be sent: it is tried again then" />`}
      <${Figure} label="Live" value=${`${count(trigger.live_jobs)} of ${count(trigger.max_jobs)}`} how="How many of its executions live, of how many there may be" />
      <${Figure} label="Fired" value=${count(trigger.fired)} how="How often" />
      <${Figure} label="Last" value=${html`<${Time} at=${trigger.last_fired_at} none="never" />`} how="When it fired last" />
      ${trigger.cron && html`<${Figure} label="Cron" value=${trigger.cron} of=${trigger.tz} how="At these times, in this time zone" />`}
      ${trigger.queue_id && html`<${Figure} label="Items" value=${count(trigger.batch_size)} how="How many an execution works on at most" />`}
      <${Figure} label="Action" value=${html`<a href=${href(["executions"], { action: trigger.action })}>${trigger.action}</a>`} how="That its executions count as" />
    </dl>`;
}

function Started({ executions }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Executions"><table class="rows">
      <thead><tr><th scope="col">Execution</th><th scope="col">Fired</th><th scope="col">Ended</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${executions.map((each) => html`
        <tr key=${each.execution_id} data-row=${each.execution_id}>
          <td class="text" data-label="Execution"><a class="id" href=${href(["executions", each.execution_id])}>${each.execution_id}</a></td>
          <td data-label="Fired"><${Time} at=${each.fired_at} /></td>
          <td data-label="Ended"><${Time} at=${each.ended_at} /></td>
          <td data-label="Outcome"><${Outcome} of=${each} /></td>
        </tr>`)}</tbody></table></div>`;
}

function Outcome({ of: { state, sent_at: sent } }) {
  if (!state) return html`<span class="faint">${sent ? "sent" : "not sent yet"}</span>`;
  return html`<span class="badge state-${state}">${state.toLowerCase()}</span>`;
}
