// One item: what it is, what came of it, and buttons to try it again, to postpone, to edit and to delete it.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { count } from "../words.js";
import { Card, Code, Figure, ItemBadge, Time } from "../parts/basics.js";
import { Ask } from "../parts/dialog.js";
import { InPlace } from "../parts/in-place.js";
import { NotificationsOfItem } from "../parts/notifications.js";
import { NumberField } from "../parts/number-field.js";
import { Trouble, attempt, say } from "../parts/trouble.js";
import { Holder } from "./queue.js";

const OVER = new Set(["DONE", "FAILED", "ABANDONED", "DELETED"]);
const MINUTE_MS = 60_000;

export function Item({ queue, id, caller }) {
  const path = `/queue-items/${part(id)}`;
  const { data: item, problem, reload } = useResource(path, { concerns: () => false, everyMs: 3000 });
  const mayChange = caller.may("operate");
  return html`
    <p class="crumbs"><a href=${href(["queues"])}>Queues and triggers</a> › <a href=${href(["queues", queue])}>${queue}</a></p>
    <h1 class="id">${item?.reference ?? id}</h1>
    <${Trouble} problem=${problem} />
    ${item && html`
      <div class="heading"><${ItemBadge} item=${item} />
        <span class="faint">${item.error_message ?? item.progress ?? ""}</span>
        ${mayChange && html`<${Buttons} item=${item} path=${path} reload=${reload} />`}</div>
      <${Facts} item=${item} path=${path} mayChange=${mayChange} reload=${reload} />
      ${item.withheld
        ? html`<${Card} title="Payload and result"><p class="faint">Shown to admins.</p><//>`
        : html`
          <${Payload} item=${item} path=${path} mayChange=${mayChange} reload=${reload} />
          ${item.result !== null && html`<${Card} title="Result"><${Code}>${JSON.stringify(item.result, null, 2)}<//><//>`}`}
      ${mayChange && html`<${NotificationsOfItem} id=${item.id} />`}
    `}
  `;
}

const PRIORITY_MAX = 2_147_483_647;
const priorityField = (name, draft, take) => html`
  <${NumberField} label=${name} value=${draft} least=${-PRIORITY_MAX} most=${PRIORITY_MAX} onInput=${take} />`;
const seen = (item) => ({ "If-Match": `"${item.revision}"` });

function Facts({ item, path, mayChange, reload }) {
  const save = (draft) => send("PATCH", path, { priority: Number(draft) }, seen(item));
  return html`
    <dl class="figures">
      <${Figure} label="Priority" how="The larger is handed out first, unlike the bands of executions" value=${html`
        <${InPlace} what="Priority" gate="the item" text=${count(item.priority)} how="The larger is handed out first" begin=${item.priority}
          field=${priorityField} save=${save} mayChange=${mayChange && !OVER.has(item.status)} reload=${reload} />`} />
      <${Figure} label="Added" value=${html`<${Time} at=${item.created_at} />`} how="When it was accepted" of=${`by ${item.created_by}`} />
      <${Figure} label="Deadline" value=${html`<${Time} at=${item.deadline_at} none="none" />`} how="Of equal priority, an earlier one is handed out first" />
      ${item.available_at && html`<${Figure} label="Not before" value=${html`<${Time} at=${item.available_at} />`} how="It is handed out then or later" />`}
      <${Figure} label="Holder" value=${html`<${Holder} item=${item} />`} how="The robot or execution that holds it, or has ended it" />
      <${Figure} label="Handed out" value=${html`<${Time} at=${item.locked_at} />`} how="When its latest holder got it" />
      ${item.locked_until && html`<${Figure} label="Lease until" value=${html`<${Time} at=${item.locked_until} />`} how="If its holder says nothing until then, it is handed out again" />`}
      <${Figure} label="Times handed out" value=${count(item.fence)} how="Its fencing number: an earlier holder's outcome is refused" />
      <${Figure} label="Tried again" value=${count(item.retries)} how="After failures of the application" />
      <${Figure} label="Abandoned" value=${count(item.abandoned)} how="Leases that ended without an outcome; the third ends it" />
      ${item.failure && html`<${Figure} label="Failure" value=${item.failure} how="application: something did not work; business: the item itself is wrong" />`}
      ${item.ended_at && html`<${Figure} label="Ended" value=${html`<${Time} at=${item.ended_at} />`} how="When its outcome was said" />`}
      <${Figure} label="Id" kind="wide" value=${item.id} how="Of all queues, only this one has it" />
    </dl>`;
}

function Buttons({ item, path, reload }) {
  const [asks, setAsks] = useState(null);
  const change = async (done, body) => {
    const isDone = await attempt(done, () => send("PATCH", path, body, seen(item)));
    reload();
    return isDone;
  };
  const close = () => setAsks(null);
  if (item.status === "DELETED") return null;
  return html`
    ${item.status !== "NEW" && item.status !== "DONE" && html`
      <button onClick=${() => change("It is tried again", { status: "NEW" })}>${OVER.has(item.status) ? "Try again" : "Make it new"}</button>`}
    ${!OVER.has(item.status) && html`<button onClick=${() => setAsks("postpone")}>Postpone…</button>`}
    <button class="danger" onClick=${() => setAsks("delete")}>Delete…</button>
    ${asks === "postpone" && html`<${Postpone} change=${change} onClose=${close} />`}
    ${asks === "delete" && html`
      <${Ask} title="Delete the item?" button="Delete it" kind="danger" onClose=${close} act=${async () => {
        const isDone = await attempt("It is deleted", () => send("DELETE", path, undefined, seen(item)));
        reload();
        return isDone;
      }}><p>Whoever holds it loses it. It is kept as deleted until its time is over.</p><//>`}
  `;
}

function Postpone({ change, onClose }) {
  const [minutes, setMinutes] = useState("60");
  const act = () => change(`It is postponed by ${minutes} min`, {
    postpone_until: new Date(Date.now() + Number(minutes) * MINUTE_MS).toISOString(),
  });
  return html`
    <${Ask} title="Postpone the item?" button="Postpone it" act=${act} onClose=${onClose}>
      <label>Minutes from now<input type="number" min="1" max="525600" required value=${minutes} onInput=${(event) => setMinutes(event.target.value)} /></label>
      <p>Whoever holds it loses it.</p>
    <//>`;
}

function Payload({ item, path, mayChange, reload }) {
  const [draft, setDraft] = useState(null);
  async function save(event) {
    event.preventDefault();
    let payload;
    try {
      payload = JSON.parse(draft);
    } catch (error) {
      say(`This is no JSON: ${error.message}`);
      return;
    }
    if (await attempt("The payload is changed", () => send("PATCH", path, { payload }, seen(item)))) setDraft(null);
    reload();
  }
  const text = JSON.stringify(item.payload, null, 2);
  const edit = mayChange && !OVER.has(item.status) && draft === null && html`<button onClick=${() => setDraft(text)}>Edit</button>`;
  return html`
    <${Card} title="Payload" action=${edit}>
      ${draft === null ? html`<${Code}>${text}<//>` : html`
        <form class="form" onSubmit=${save}>
          <label>JSON<textarea rows="10" value=${draft} onInput=${(event) => setDraft(event.target.value)}></textarea></label>
          <p class="buttons"><button class="main">Save</button> <button type="button" onClick=${() => setDraft(null)}>Leave it</button></p>
        </form>`}
    <//>`;
}
