// Dead letters: what was given up, kept to be looked at, and to be run again one by one or many at once.
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { replace } from "../route.js";
import { plural } from "../words.js";
import { Empty } from "../parts/basics.js";
import { Bulk } from "../parts/bulk.js";
import { ExecutionRows } from "../parts/execution-rows.js";
import { Trouble } from "../parts/trouble.js";

const MOST = 200;

export function DeadLetters({ caller, query }) {
  const { data, problem, reload } = useResource(`/executions/dead?limit=${MOST}`);
  const [bulk, setBulk] = useState(null);
  const user = query.get("user") ?? "";
  const action = query.get("action") ?? "";
  const shown = (data?.executions ?? []).filter((each) => (!user || each.user_id === user) && (!action || each.action === action));
  const mayChange = caller.may("submit") || caller.may("operate");
  const filter = (name) => (event) => {
    const next = new URLSearchParams(query);
    next.set(name, event.target.value.trim());
    if (!event.target.value.trim()) next.delete(name);
    replace(["dead"], next);
  };
  function close() {
    setBulk(null);
    reload();
  }
  return html`
    <h1>Dead letters</h1>
    <${Trouble} problem=${problem} />
    ${data && (data.executions.length === 0
      ? html`<${Empty} title="There are none.">
          <p>What is given up appears here: its worker or pod died too often, or its data could not be read. It is kept to be run again.</p>
          <p>A program that ends with another exit code than 0 is none: it has FAILED, and that is its result.</p><//>`
      : html`
        <form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
          ${caller.may("operate") && html`<label><span>User</span><input data-search value=${user} onChange=${filter("user")} /></label>`}
          <label><span>Action</span><input value=${action} onChange=${filter("action")} /></label>
          ${mayChange && html`
            <button type="button" class="main" onClick=${() => setBulk("retry")}>Run all of these again…</button>
            <button type="button" class="danger" onClick=${() => setBulk("drop")}>Drop all of these…</button>`}
        </form>
        ${shown.length ? html`<${ExecutionRows} executions=${shown} />`
          : html`<${Empty} title="None of the latest is like this."><p>Loosen a filter.</p><//>`}
        <p class="faint table-note">${plural(data.dead_count, "dead letter")} in all; the latest ${MOST} are looked at here. Changes of many are of all.</p>`)}
    ${bulk && html`<${Bulk} action=${bulk} caller=${caller} onClose=${close}
      wanted=${{ ...(user ? { user } : {}), ...(action ? { of_action: action } : {}) }} />`}
  `;
}
