// The filters of a list. They are in the address, so that a link shows the same.
import { html } from "../lib.js";
import { replace, route } from "../route.js";
import { BANDS, STATES, band } from "../words.js";

const NAMES = ["text", "status", "priority", "user", "action", "lane", "from", "to"];
const GROUPS = {
  any: [],
  waiting: ["PENDING"],
  scheduled: ["SCHEDULED"],
  running: ["RUNNING", "POD", "CANCELLING"],
  failed: ["FAILED", "TIMEOUT", "EXPIRED"],
};

// The API's parameters, of those of the address.
export function wantedOf(query) {
  const wanted = {};
  for (const name of NAMES) {
    const values = query.getAll(name).filter(Boolean);
    if (values.length) wanted[name] = name === "status" || name === "priority" ? values : values[0];
  }
  for (const name of ["from", "to"]) {
    if (wanted[name]) wanted[name] = asMoment(wanted[name]);
  }
  return wanted;
}

export const isFiltered = (query) => NAMES.some((name) => query.get(name));

// What a field for date and time holds is local.
function asMoment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

export function Filters({ query, parts, mayAskForOthers }) {
  function change(name, values) {
    // What was typed just before somebody went elsewhere changes nothing there.
    if (route.get().parts.join("/") !== parts.join("/")) return;
    // As the address has them now: another filter may have changed while this one was typed.
    const next = new URLSearchParams(route.get().query);
    next.delete(name);
    next.delete("cursor");
    for (const each of values.filter(Boolean)) next.append(name, each);
    replace(parts, next);
  }
  function clear() {
    clearTimeout(timer);
    replace(parts);
  }
  const one = (name) => (event) => change(name, [event.target.value]);
  const chosen = query.getAll("status");
  return html`
    <form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
      <div class="chips" role="group" aria-label="State">
        ${Object.entries(GROUPS).map(([name, states]) => html`
          <button key=${name} type="button" aria-pressed=${same(states, chosen)} onClick=${() => change("status", states)}>
            ${name}</button>`)}
      </div>
      <label class="wide"><span>Begins with</span>
        <input data-search type="search" name="text" maxlength="128" placeholder="id, user or action  ( / )" autocomplete="off"
          value=${query.get("text") ?? ""} onInput=${slowly(one("text"))} /></label>
      <label><span>State</span>
        <select name="status" value=${chosen.length === 1 ? chosen[0] : ""} onChange=${one("status")}>
          <option value="">${chosen.length > 1 ? "several" : "any"}</option>
          ${STATES.map((each) => html`<option value=${each}>${each.toLowerCase()}</option>`)}
        </select></label>
      <label><span>Priority</span>
        <select name="priority" value=${query.get("priority") ?? ""} onChange=${one("priority")}>
          <option value="">any</option>
          ${BANDS.map((each) => html`<option value=${each}>${band(each)}</option>`)}
        </select></label>
      ${mayAskForOthers && html`<${Field} name="user" label="User" query=${query} change=${one} />`}
      <${Field} name="action" label="Action" query=${query} change=${one} />
      <${Field} name="lane" label="Lane" query=${query} change=${one} />
      <${Field} name="from" label="Accepted from" type="datetime-local" query=${query} change=${one} />
      <${Field} name="to" label="to" type="datetime-local" query=${query} change=${one} />
      ${isFiltered(query) && html`<button type="button" onClick=${clear}>Clear</button>`}
    </form>
  `;
}

function Field({ name, label, type = "text", query, change }) {
  return html`<label><span>${label}</span>
    <input type=${type} name=${name} value=${query.get(name) ?? ""} maxlength="128" autocomplete="off"
      onChange=${change(name)} /></label>`;
}

const same = (some, others) => some.length === others.length && some.every((each) => others.includes(each));

let timer = null;
// While somebody types, nothing is asked.
function slowly(act) {
  return (event) => {
    const { value } = event.target;
    clearTimeout(timer);
    timer = setTimeout(() => act({ target: { value } }), 200);
  };
}
