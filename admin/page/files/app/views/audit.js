// Who changed what, the latest first; from the ledger.
import { withQuery } from "../api/calls.js";
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { go, href, replace } from "../route.js";
import { Empty, Time } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

export function Audit({ query }) {
  const subject = query.get("subject");
  const cursor = query.get("cursor");
  const { data, problem, former } = useResource(withQuery("/audit", { subject, cursor, limit: 50 }));
  const shown = data ?? former;
  function turn(to) {
    const next = { ...(subject ? { subject } : {}), ...(to ? { cursor: to } : {}) };
    go(["audit"], next);
  }
  return html`
    <h1>Audit</h1>
    <form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
      <label class="wide"><span>Of this gate, lane, setting or execution</span>
        <input data-search type="search" maxlength="300" value=${subject ?? ""}
          onChange=${(event) => replace(["audit"], event.target.value.trim() ? { subject: event.target.value.trim() } : null)} /></label>
    </form>
    <${Trouble} problem=${problem} />
    ${shown && (shown.entries.length ? html`
      <div class="scroll ${data ? "" : "dim"}" tabindex="0" role="region" aria-label="Changes"><table class="rows">
        <thead><tr><th scope="col">When</th><th scope="col" title="The token's owner, its id and the caller's address; or a user and a host">Who</th>
          <th scope="col">Did</th><th scope="col">To what</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
        <tbody>${shown.entries.map((each, number) => html`
          <tr key=${`${each.at} ${number}`} data-row=${each.subject}>
            <td data-label="When"><${Time} at=${each.at} /></td>
            <td class="text" data-label="Who">${each.by}</td>
            <td data-label="Did">${each.verb}</td>
            <td class="text" data-label="To what">${each.kind === "execution"
              ? html`<a class="id" href=${href(["executions", each.subject])}>${each.subject}</a>` : each.subject}</td>
            <td class="text" data-label="Before">${each.before ?? "–"}</td>
            <td class="text" data-label="After">${each.after ?? "–"}</td>
          </tr>`)}</tbody></table></div>
      <nav class="pager" aria-label="Pages">
        <button disabled=${!cursor} onClick=${() => turn(null)}>Latest</button>
        <button disabled=${!shown.next} onClick=${() => turn(shown.next)}>Earlier →</button>
      </nav>`
      : html`<${Empty} title=${subject ? "Nobody changed it." : "Nobody changed anything yet."}>
          <p>Limits, rates, weights, pauses, settings and tokens that are changed, and executions that are cancelled, moved or run again, stand here with who did it.</p><//>`)}
  `;
}
