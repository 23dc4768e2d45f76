// Runtime settings: in force everywhere at once. One is changed only by who saw the value that it has.
import { call, part, withQuery } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { replace } from "../route.js";
import { duration } from "../times.js";
import { count } from "../words.js";
import { FairBy } from "../parts/fair.js";
import { NumberField } from "../parts/number-field.js";
import { Trouble, attempt, say } from "../parts/trouble.js";

const MEANS = {
  max_concurrent: "Executions that hold a slot at once, over all lanes",
  max_concurrent_executions: "Executions of the lane that hold a slot at once",
  max_queue_size: "Executions that may wait in the lane; beyond that it refuses",
  max_executions_per_user: "Executions of one user that may wait in the lane",
  stale_timeout_seconds: "Who waits longer ends as EXPIRED; time in a pause does not count",
  ageing_seconds: "Who waits so long in a band below HIGH rises by one, at most to HIGH",
  lease_ttl_ms: "Lease of a worker's thread, which is renewed three times in this time",
  pod_lease_ttl_ms: "Lease of a pod",
  start_deadline_ms: "How long a grant that nobody renews may take until its start",
  grace_ms: "Such a lease is this, the start's deadline and the execution's timeout",
  max_crashes: "Lost leases that an execution survives; after one more it is a dead letter",
  max_infrastructure_retries: "How often it is tried again when the cluster failed",
  meta_ttl_seconds: "How long the record of an ended execution is kept in Redis",
  direct_ttl_seconds: "The same, of one that was sent directly and whose id was made up",
  result_ttl_seconds: "How long exit code and the end of the output are kept in Redis",
  reply_ttl_seconds: "How long the last answer to each caller is kept",
  dead_message_ttl_seconds: "How long dead letters are kept",
  max_dead_messages: "How many dead letters are kept; of more, the oldest are forgotten",
  journal_max_bytes: "Memory of the Redis server that the journal takes; of a full one the oldest entries are dropped",
};

function shown(name, value) {
  if (value === null) return "no bound";
  if (name.endsWith("_seconds")) return duration(value * 1000);
  if (name.endsWith("_ms")) return duration(value);
  return count(value);
}

const unit = (name) => (name.endsWith("_seconds") ? "s" : name.endsWith("_ms") ? "ms" : name.endsWith("_bytes") ? "bytes" : "");

export function Settings({ caller, query }) {
  const lane = query.get("lane");
  const lanes = useResource("/lanes", { everyMs: 30_000, concerns: () => false });
  const { data, problem, reload } = useResource(withQuery("/settings", { lane }));
  const names = (lanes.data?.lanes ?? []).map((each) => each.lane);
  return html`
    <h1>Settings</h1>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label><span>Bounds of lane</span>
        <select value=${lane ?? ""} onChange=${(event) => replace(["settings"], event.target.value ? { lane: event.target.value } : null)}>
          <option value="">executions, and what is no lane's</option>
          ${names.filter((each) => each !== "executions").map((each) => html`<option value=${each}>${each}</option>`)}
        </select></label>
    </form>
    <${Trouble} problem=${problem} />
    ${caller.may("operate") && html`<${FairBy} key=${lane ?? "executions"} lane=${lane ?? "executions"} mayChange=${caller.may("admin")} />`}
    ${data && html`<div class="scroll" tabindex="0" role="region" aria-label="Settings"><table class="rows">
      <thead><tr><th scope="col">Setting</th><th scope="col">What it is</th><th scope="col" class="number">In force</th></tr></thead>
      <tbody>${data.settings.map((each) => html`
        <tr key=${each.name} data-row=${each.name}>
          <td data-label="Setting"><span class="id">${each.name}</span>${each.lane && html` <small class="faint">lane ${each.lane}</small>`}</td>
          <td class="text" data-label="What it is">${MEANS[each.name] ?? ""}</td>
          <td class="number" data-label="In force"><${Value} setting=${each} lane=${lane} mayChange=${caller.may("admin")} reload=${reload} /></td>
        </tr>`)}</tbody></table></div>
      <p class="faint table-note">${caller.may("admin") ? "A change is in force at once, and stands in the audit." : "Changing one needs the scope admin."}</p>`}
  `;
}

function Value({ setting: { name, value }, lane, mayChange, reload }) {
  const [draft, setDraft] = useState(null);
  const text = shown(name, value);
  const path = withQuery(`/settings/${part(name)}`, { lane });
  const exact = value === null ? "none" : `${value} ${unit(name)}`;
  if (!mayChange) return html`<span title=${exact}>${text}</span>`;

  // Its tag says which value was seen: another's change meanwhile is told, and not undone.
  async function begin() {
    try {
      const { document: found, headers } = await call("GET", path);
      setDraft({ text: found.value === null ? "" : String(found.value), etag: headers.get("ETag") });
    } catch (problem) {
      say(`${name}: `, problem);
    }
  }
  async function change(method, body, done) {
    const headers = { "If-Match": draft.etag };
    if (await attempt(done, () => call(method, path, { body, headers }).then(() => done))) setDraft(null);
    reload();
  }
  function save(event) {
    event.preventDefault();
    change("PUT", { value: Number(draft.text) }, `${name} is ${draft.text} ${unit(name)}`);
  }
  if (draft === null) {
    return html`<button class="link" title="${exact}. Change it" aria-label="${name}: ${text}. Change it" onClick=${begin}>${text}</button>`;
  }
  return html`
    <form class="inline" onSubmit=${save} onKeyDown=${(event) => event.key === "Escape" && setDraft(null)}>
      <${NumberField} label=${name} value=${draft.text} onInput=${(text) => setDraft({ ...draft, text })} />${unit(name)}
      <button class="main">Set</button>
      <button type="button" title="Let it have its default again" onClick=${() => change("DELETE", undefined, `${name} has its default again`)}>Default</button>
      <button type="button" aria-label="Leave ${name}" onClick=${() => setDraft(null)}>✕</button>
    </form>`;
}
