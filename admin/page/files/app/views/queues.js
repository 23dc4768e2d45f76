// Queues of items: how many of each wait, are held, are done or failed; and triggers, which start executions for them.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { duration } from "../times.js";
import { count } from "../words.js";
import { Card, Code, Empty, Time } from "../parts/basics.js";
import { Trouble, attempt, say } from "../parts/trouble.js";
import { Triggers } from "./triggers.js";

const EVERY = { concerns: () => false, everyMs: 5000 };

export function Queues({ caller }) {
  const { data, problem, reload } = useResource("/queues", EVERY);
  const mayChange = caller.may("admin");
  return html`
    <h1>Queues and triggers</h1>
    <${Trouble} problem=${problem} />
    ${mayChange && html`<${New} reload=${reload} />`}
    ${data && (data.queues.length
      ? html`<${Table} queues=${data.queues} mayChange=${mayChange} reload=${reload} />`
      : html`<${Empty} title="There is no queue of items yet.">
          <p>Items are work for robots and people: each is handed out to one of them, with a lease.</p>
          <${Code}>bandmaster queue create invoices<//><//>`)}
    <${Triggers} caller=${caller} queues=${data?.queues ?? []} />
  `;
}

function New({ reload }) {
  const [name, setName] = useState("");
  const [retries, setRetries] = useState("2");
  async function add(event) {
    event.preventDefault();
    try {
      await send("POST", "/queues", { name, max_retries: Number(retries) });
      say(`${name} is added`);
      setName("");
    } catch (problem) {
      say(`${name} was not added: `, problem);
    }
    reload();
  }
  return html`
    <${Card} title="A new queue" note="of items for robots, people, or the executions of a trigger">
      <form class="form" onSubmit=${add}>
        <label>Name<input name="name" required maxlength="128" placeholder="invoices" value=${name} onInput=${(event) => setName(event.target.value)} /></label>
        <label title="How often an item is tried again after a failure of the application">Retries<input name="retries" type="number" min="0" required
          value=${retries} onInput=${(event) => setRetries(event.target.value)} /></label>
        <button class="main">Add queue</button>
      </form>
    <//>`;
}

function Table({ queues, mayChange, reload }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Queues"><table class="rows">
      <thead><tr><th scope="col">Queue</th>
        <th scope="col" class="number" title="Ready to be handed out">New</th>
        <th scope="col" class="number" title="Not to be handed out before a time">Postponed</th>
        <th scope="col" class="number" title="Held by a robot, or by an execution of a trigger">Held</th>
        <th scope="col" class="number">Done</th>
        <th scope="col" class="number" title="Failed for good: because something did not work, and because they are wrong themselves">Failed</th>
        <th scope="col" class="number" title="Three leases ended without an outcome">Abandoned</th>
        <th scope="col" title="When the one was added that has waited longest">Oldest</th>
        <th scope="col" class="number" title="How many have ended in the last hour">Last hour</th>
        <th scope="col" title="From when their last holder got them to their end">Takes</th>
        ${mayChange && html`<th scope="col"><span class="hidden">Buttons</span></th>`}</tr></thead>
      <tbody>${queues.map((each) => html`<${Row} key=${each.id} queue=${each} mayChange=${mayChange} reload=${reload} />`)}</tbody>
    </table></div>`;
}

function Row({ queue, mayChange, reload }) {
  const { data } = useResource(`/queues/${queue.id}/stats`, EVERY);
  const of = (status) => count(data?.counts[status]);
  return html`
    <tr data-row=${queue.name}>
      <td class="text" data-label="Queue"><a href=${href(["queues", queue.name])}>${queue.name}</a>
        ${!queue.is_active && html` <span class="badge state-dead" title="It takes and gives nothing">inactive</span>`}</td>
      <td class="number" data-label="New">${of("NEW")}</td>
      <td class="number" data-label="Postponed">${of("POSTPONED")}</td>
      <td class="number" data-label="Held">${of("IN_PROGRESS")}</td>
      <td class="number" data-label="Done">${of("DONE")}</td>
      <td class="number" data-label="Failed" title=${data && `application: ${data.appExceptions}, business: ${data.bizExceptions}`}>${of("FAILED")}</td>
      <td class="number" data-label="Abandoned">${of("ABANDONED")}</td>
      <td data-label="Oldest"><${Time} at=${data?.oldest_new_at} /></td>
      <td class="number" data-label="Last hour">${count(data?.ended_last_hour)}</td>
      <td data-label="Takes">${duration(data?.average_processing_seconds === null ? null : data?.average_processing_seconds * 1000)}</td>
      ${mayChange && html`<td><span class="buttons"><${Turn} queue=${queue} reload=${reload} /></span></td>`}
    </tr>`;
}

// Whether it takes and gives items.
export function Turn({ queue: { id, name, is_active: isActive, revision }, reload }) {
  async function turn() {
    const done = isActive ? `${name} takes and gives nothing` : `${name} takes and gives items`;
    await attempt(done, () => send("PUT", `/queues/${part(id)}`, { is_active: !isActive }, { "If-Match": `"${revision}"` }));
    reload();
  }
  const does = isActive ? "Stop" : "Start";
  return html`<button aria-label="${does} ${name}" onClick=${turn}>${does}</button>`;
}
