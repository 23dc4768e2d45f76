// Triggers: what starts executions for the items of a queue, or at times; switched, and deleted.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { count } from "../words.js";
import { Code, Empty, Time } from "../parts/basics.js";
import { Ask } from "../parts/dialog.js";
import { Trouble, attempt } from "../parts/trouble.js";

export function Triggers({ caller, queues }) {
  const { data, problem, reload } = useResource("/triggers", { concerns: () => false, everyMs: 5000 });
  const [removes, setRemoves] = useState(null);
  const mayChange = caller.may("admin");
  const names = Object.fromEntries(queues.map(({ id, name }) => [id, name]));
  return html`
    <h2>Triggers</h2>
    <${Trouble} problem=${problem} />
    ${data && (data.triggers.length
      ? html`<${Table} triggers=${data.triggers} names=${names} reload=${reload} onRemove=${mayChange ? setRemoves : null} />`
      : html`<${Empty} title="There is no trigger yet.">
          <p>A trigger starts a program for the items of a queue, or at times.</p>
          <${Code}>bandmaster trigger create book --queue invoices --command ./book.py<//><//>`)}
    ${removes && html`<${Remove} trigger=${removes} reload=${reload} onClose=${() => setRemoves(null)} />`}
  `;
}

function Table({ triggers, names, reload, onRemove }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Triggers"><table class="rows">
      <thead><tr><th scope="col">Trigger</th><th scope="col">Fires</th><th scope="col">Action</th>
        <th scope="col" class="number" title="How many of its executions live, of how many there may be">Live</th>
        <th scope="col" class="number">Fired</th><th scope="col">Last</th>
        <th scope="col" title="When it looks again, or fires">Next</th>
        <th scope="col"><span class="hidden">Buttons</span></th></tr></thead>
      <tbody>${triggers.map((each) => html`
        <tr key=${each.id} data-row=${each.name}>
          <td class="text" data-label="Trigger"><a href=${href(["triggers", each.name])}>${each.name}</a> <${TriggerState} trigger=${each} />
            ${each.last_error && html` <small class="reason">${each.last_error}</small>`}</td>
          <td class="text" data-label="Fires"><${Fires} trigger=${each} names=${names} /></td>
          <td class="text" data-label="Action"><a href=${href(["executions"], { action: each.action })}>${each.action}</a></td>
          <td class="number" data-label="Live">${count(each.live_jobs)} of ${count(each.max_jobs)}</td>
          <td class="number" data-label="Fired">${count(each.fired)}</td>
          <td data-label="Last"><${Time} at=${each.last_fired_at} none="never" /></td>
          <td data-label="Next"><${Time} at=${each.next_fire_at} none="–" /></td>
          <td>${onRemove && html`<span class="buttons"><${Turn} trigger=${each} reload=${reload} />
            <button class="danger" aria-label="Delete ${each.name}" onClick=${() => onRemove(each)}>Delete…</button></span>`}</td>
        </tr>`)}</tbody></table></div>`;
}

function Fires({ trigger: { type, cron, tz, queue_id: queueId, batch_size: most }, names }) {
  if (type === "TIME") return html`<code>${cron}</code> <small class="faint">${tz}</small>`;
  const queue = names[queueId];
  return html`${queue ? html`<a href=${href(["queues", queue])}>${queue}</a>` : `queue ${queueId}`}
    <small class="faint">${most > 1 ? `up to ${count(most)} items` : "each item"}</small>`;
}

// Nothing is said of one that is active.
export function TriggerState({ trigger: { state, last_error: problem } }) {
  if (state === "active") return null;
  return html`<span class="badge state-dead" title=${problem ?? "It starts nothing until it is enabled"}>${state.replaceAll("_", " ")}</span>`;
}

export function Turn({ trigger: { id, name, enabled, revision }, reload }) {
  async function turn() {
    const done = enabled ? `${name} fires no more: what was started goes on` : `${name} fires`;
    await attempt(done, () => send("PUT", `/triggers/${part(id)}`, { enabled: !enabled }, { "If-Match": `"${revision}"` }));
    reload();
  }
  const does = enabled ? "Disable" : "Enable";
  return html`<button aria-label="${does} ${name}" onClick=${turn}>${does}</button>`;
}

function Remove({ trigger: { id, name }, reload, onClose }) {
  const act = () => attempt(`${name} is deleted`, async () => {
    await send("DELETE", `/triggers/${part(id)}`);
    reload();
  });
  return html`
    <${Ask} title="Delete the trigger ${name}?" button="Delete it" kind="danger" act=${act} onClose=${onClose}>
      <p>What it started goes on and settles its items; nothing else is started.</p>
    <//>`;
}
