// One queue: its items, the latest first, by status or reference.
import { part, withQuery } from "../api/calls.js";
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href, replace } from "../route.js";
import { ITEM_STATUSES, count } from "../words.js";
import { Empty, ItemBadge, Time } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";
import { ItemFiles } from "../parts/item-files.js";
import { NewItem } from "../parts/new-item.js";
import { Notifications } from "../parts/notifications.js";
import { Turn } from "./queues.js";

const PAGE = 50;
const EVERY = { concerns: () => false, everyMs: 3000 };

export function Queue({ name, caller, query }) {
  const queue = useResource(`/queues/${part(name)}`, EVERY);
  const [status, reference, cursor] = ["status", "reference", "cursor"].map((each) => query.get(each) ?? "");
  const items = useResource(withQuery("/queue-items", { queue: name, status, reference, cursor, limit: PAGE }), EVERY);
  const to = (changes) => {
    const next = new URLSearchParams(query);
    next.delete("cursor");
    for (const [key, value] of Object.entries(changes)) value ? next.set(key, value) : next.delete(key);
    replace(["queues", name], next);
  };
  return html`
    <p class="crumbs"><a href=${href(["queues"])}>Queues and triggers</a></p>
    <div class="heading"><h1>${name}</h1>
      ${queue.data && !queue.data.is_active && html`<span class="badge state-dead" title="It takes and gives nothing">inactive</span>`}
      ${queue.data && caller.may("admin") && html`<${Turn} queue=${queue.data} reload=${queue.reload} />`}</div>
    ${queue.data?.description && html`<p class="faint">${queue.data.description}</p>`}
    <${Trouble} problem=${queue.problem ?? items.problem} />
    ${caller.may("submit") && html`<${NewItem} queue=${name} reload=${items.reload} />`}
    ${caller.may("admin") && html`<${ItemFiles} queue=${name} filters=${{ status, reference }} reload=${items.reload} />`}
    <form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
      <div class="chips" role="group" aria-label="Status">
        ${["", ...ITEM_STATUSES].map((each) => html`
          <button key=${each} type="button" aria-pressed=${status === each} onClick=${() => to({ status: each })}>
            ${each ? inWords(each) : "any"}</button>`)}
      </div>
      <label><span>Reference</span><input data-search maxlength="256" autocomplete="off" value=${reference}
        onChange=${(event) => to({ reference: event.target.value.trim() })} /></label>
    </form>
    ${items.data && (items.data.items.length
      ? html`<${Items} items=${items.data.items} queue=${name} />`
      : html`<${Empty} title="There is none like this."><p>Loosen a filter, or add one.</p><//>`)}
    ${items.data && (cursor || items.data.next) && html`<p class="buttons">
      ${cursor && html`<button onClick=${() => to({})}>The latest</button>`}
      ${items.data.next && html`<button onClick=${() => to({ cursor: items.data.next })}>Earlier ones</button>`}</p>`}
    ${queue.data && html`<${Notifications} subject="queue" of=${queue.data} />`}
  `;
}

const inWords = (status) => status.toLowerCase().replaceAll("_", " ");

function Items({ items, queue }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Items"><table class="rows">
      <thead><tr><th scope="col">Item</th><th scope="col">Status</th>
        <th scope="col" class="number" title="The larger is handed out first">Priority</th>
        <th scope="col">Added</th><th scope="col" title="The robot that holds it or has ended it, or the execution">Holder</th>
        <th scope="col" class="number" title="Tries again after failures; and leases that ended without an outcome">Tries</th>
        <th scope="col">What came of it</th></tr></thead>
      <tbody>${items.map((each) => html`
        <tr key=${each.id} data-row=${each.id}>
          <td class="text" data-label="Item"><a href=${href(["queues", queue, each.id])}>${each.reference ?? html`<span class="id">${each.id}</span>`}</a></td>
          <td data-label="Status"><${ItemBadge} item=${each} /></td>
          <td class="number" data-label="Priority">${count(each.priority)}</td>
          <td data-label="Added"><${Time} at=${each.created_at} /></td>
          <td class="text" data-label="Holder"><${Holder} item=${each} /></td>
          <td class="number" data-label="Tries">${count(each.retries)}${each.abandoned > 0 && html` <small class="faint">+ ${count(each.abandoned)}</small>`}</td>
          <td class="text" data-label="What came of it"><span class="reason">${each.error_message ?? each.progress ?? ""}</span></td>
        </tr>`)}</tbody></table></div>`;
}

export function Holder({ item: { locked_by_robot_id: robot, job_id: job } }) {
  if (job) return html`<a class="id" href=${href(["executions", job])}>${job}</a>`;
  return robot ?? html`<span class="faint">–</span>`;
}
