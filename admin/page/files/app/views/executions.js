// The list of executions: from the ledger, page by page; without one, what runs, waits and is scheduled, from Redis.
import { withQuery } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { go, href } from "../route.js";
import { Code, Empty, Time } from "../parts/basics.js";
import { ExecutionRows } from "../parts/execution-rows.js";
import { Bulk } from "../parts/bulk.js";
import { Filters, isFiltered, wantedOf } from "../parts/filters.js";
import { Trouble } from "../parts/trouble.js";

const PARTS = ["executions"];

export function Executions({ caller, query }) {
  const cursor = query.get("cursor");
  const path = withQuery("/executions/", { ...wantedOf(query), cursor, limit: 50 });
  const page = useResource(path);
  const isLedgerAway = page.problem?.code === "ledger_unavailable";
  const shown = page.data ?? (page.problem ? null : page.former);

  function turn(to) {
    const next = new URLSearchParams(query);
    if (to) next.set("cursor", to);
    else next.delete("cursor");
    go(PARTS, next);
  }

  return html`
    <h1>Executions</h1>
    <${Filters} query=${query} parts=${PARTS} mayAskForOthers=${caller.may("operate")} />
    <${Trouble} problem=${page.problem} kind=${isLedgerAway ? "notice" : "trouble"} />
    ${isLedgerAway && html`<${Living} query=${query} />`}
    ${shown?.written === false && html`<${Unwritten} asOf=${shown.as_of} />`}
    ${shown && (shown.executions.length
      ? html`
        <${ExecutionRows} executions=${shown.executions} isDim=${!page.data} />
        <nav class="pager" aria-label="Pages">
          <${OfAll} caller=${caller} query=${query} reload=${page.reload} />
          <button disabled=${!shown.previous} onClick=${() => turn(shown.previous)}>← Later</button>
          <button disabled=${!cursor} onClick=${() => turn(null)}>Latest</button>
          <button disabled=${!shown.next} onClick=${() => turn(shown.next)}>Earlier →</button>
          <span class="faint" title="History is written by the ledger, a moment after it happened">from the ledger</span>
        </nav>`
      : html`<${Nothing} isFiltered=${isFiltered(query) || cursor} isOwn=${!caller.may("operate")} />`)}
    ${!shown && !page.problem && html`<p class="faint">Loading…</p>`}
  `;
}

function Unwritten({ asOf }) {
  return html`
    <div class="notice" role="alert">
      <b>Nobody writes the history.</b> What happened after <${Time} at=${asOf} /> is missing. Is the process
      <code>ledger</code> running?
    </div>
  `;
}

// What the change of many calls these filters; it knows no text and no times.
const OF_MANY = { user: "user", status: "status", action: "of_action", priority: "of_priority", lane: "of_lane" };

function OfAll({ caller, query, reload }) {
  const [asks, setAsks] = useState(null);
  const wanted = wantedOf(query);
  const names = Object.keys(wanted);
  const isTold = names.length > 0 && names.every((name) => name in OF_MANY);
  if (!isTold || !(caller.may("submit") || caller.may("operate"))) return null;
  const told = Object.fromEntries(names.map((name) => [OF_MANY[name], wanted[name]]));
  function close() {
    setAsks(null);
    reload();
  }
  return html`
    <button class="danger" onClick=${() => setAsks("cancel")}>Cancel all of these…</button>
    <button onClick=${() => setAsks("move")}>Move all of these…</button>
    ${asks && html`<${Bulk} action=${asks} caller=${caller} wanted=${told} onClose=${close} />`}
  `;
}

function Nothing({ isFiltered: filtered, isOwn }) {
  if (filtered) {
    return html`<${Empty} title="None is like this.">
      <p>Loosen a filter, or <a href=${href(PARTS)}>show all</a>.</p><//>`;
  }
  return html`
    <${Empty} title=${isOwn ? "You have no executions yet." : "There are no executions yet."}>
      <p>Send the first one:</p>
      <${Code}>bandmaster submit --priority high -- echo hello<//>
      <p>It appears here at once. Over HTTP, <code>POST /api/v1/executions/</code> does the same.</p>
    <//>`;
}

const GROUPS = ["running", "waiting", "scheduled"];

function Living({ query }) {
  const asked = { user: query.get("user"), action: query.get("action"), limit: 50 };
  return GROUPS.map((group) => html`<${Group} key=${group} group=${group} asked=${asked} />`);
}

function Group({ group, asked }) {
  const { data, problem } = useResource(withQuery("/executions/living", { group, ...asked }));
  return html`
    <h2>${group[0].toUpperCase()}${group.slice(1)}</h2>
    <${Trouble} problem=${problem} />
    ${data && (data.executions.length
      ? html`<${ExecutionRows} executions=${data.executions} />
        ${!data.complete && html`<p class="faint">There are more: these are the first.</p>`}`
      : html`<p class="faint">None.</p>`)}
  `;
}
