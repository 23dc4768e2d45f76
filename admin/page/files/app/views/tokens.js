// Tokens: made, listed and revoked. The text of a new one is shown once.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { BANDS, band } from "../words.js";
import { Card, Empty, Time } from "../parts/basics.js";
import { Ask, Dialog } from "../parts/dialog.js";
import { Trouble, attempt, say } from "../parts/trouble.js";

const SCOPES = {
  read: "see one's own executions, and counts of everything",
  submit: "also send, cancel, move and retry one's own",
  operate: "see everybody's but not what they run; steer all; limits, rates, weights and pauses",
  admin: "everything: settings, fair lanes, schedules, what others run, tokens, the audit",
};
const DAYS = { "30 days": 30, "90 days": 90, "a year": 365, never: null };

export function Tokens() {
  const { data, problem, reload } = useResource("/tokens", { concerns: () => false, everyMs: 15_000 });
  const [made, setMade] = useState(null);
  const [revokes, setRevokes] = useState(null);
  return html`
    <h1>Tokens</h1>
    <${Trouble} problem=${problem} />
    <${New} onMade=${(token) => { setMade(token); reload(); }} />
    ${data && (data.tokens.length
      ? html`<${Table} tokens=${data.tokens} onRevoke=${setRevokes} />`
      : html`<${Empty} title="No token was made yet."><p>Make one for each person and each program, with no more scope than it needs: one can be revoked alone then.</p><//>`)}
    ${made && html`<${Made} token=${made} onClose=${() => setMade(null)} />`}
    ${revokes && html`<${Revoke} token=${revokes} reload=${reload} onClose=${() => setRevokes(null)} />`}
  `;
}

function New({ onMade }) {
  const [owner, setOwner] = useState("");
  const [scope, setScope] = useState("submit");
  const [maxBand, setMaxBand] = useState("NORMAL");
  const [gates, setGates] = useState("");
  const [lasts, setLasts] = useState("90 days");
  async function make(event) {
    event.preventDefault();
    const days = DAYS[lasts];
    const patterns = gates.split(/[\s,]+/).filter(Boolean);
    const body = {
      owner: owner.trim(), scopes: [scope], max_band: maxBand,
      ...(patterns.length ? { gates: patterns } : {}),
      ...(days ? { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } : {}),
    };
    try {
      onMade(await send("POST", "/tokens", body));
      setOwner("");
    } catch (problem) {
      say("No token was made: ", problem);
    }
  }
  const to = (set) => (event) => set(event.target.value);
  return html`
    <${Card} title="A new token">
      <form class="form" onSubmit=${make}>
        <label>Owner<input name="owner" required maxlength="128" placeholder="ann, or ci" value=${owner} onInput=${to(setOwner)} /></label>
        <label>Scope<select name="scope" value=${scope} onChange=${to(setScope)}>
          ${Object.keys(SCOPES).map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <label>Most urgent priority<select name="band" value=${maxBand} onChange=${to(setMaxBand)}>
          ${BANDS.map((each) => html`<option value=${each}>${band(each)}</option>`)}</select></label>
        <label>Gates that it may name<input name="gates" placeholder="any, or tenant:*" value=${gates} onInput=${to(setGates)} /></label>
        <label>Expires<select value=${lasts} onChange=${to(setLasts)}>
          ${Object.keys(DAYS).map((each) => html`<option value=${each}>${each === "never" ? each : `after ${each}`}</option>`)}</select></label>
        <button class="main">Make token</button>
      </form>
      <p class="faint table-note"><b>${scope}</b>: ${SCOPES[scope]}.</p>
    <//>`;
}

function Made({ token, onClose }) {
  return html`
    <${Dialog} title="The token of ${token.owner}" onClose=${onClose}>
      <form onSubmit=${(event) => event.preventDefault()}>
        <p>Copy it now: <b>it is shown this once</b>, and only its SHA-256 is kept.</p>
        <code class="secret" data-secret>${token.token}</code>
        <footer>
          <button type="button" onClick=${() => copy(token.token)}>Copy</button>
          <button type="button" class="main" onClick=${onClose}>I have it</button>
        </footer>
      </form>
    <//>`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    say("The browser does not let the page copy: select it, and copy it yourself");
  }
}

function Table({ tokens, onRevoke }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Tokens"><table class="rows">
      <thead><tr><th scope="col">Owner</th><th scope="col">Id</th><th scope="col">Scopes</th><th scope="col">Up to</th><th scope="col">Gates</th>
        <th scope="col">Made</th><th scope="col" title="To the minute">Last used</th><th scope="col">Expires</th><th scope="col"><span class="hidden">Revoke</span></th></tr></thead>
      <tbody>${tokens.map((each) => html`
        <tr key=${each.token_id} data-row=${each.token_id}>
          <td class="text" data-label="Owner">${each.owner}</td>
          <td data-label="Id"><span class="id">${each.token_id}</span></td>
          <td data-label="Scopes">${each.scopes.join(", ")}</td>
          <td data-label="Up to">${band(each.max_band)}</td>
          <td class="text" data-label="Gates">${each.gates === null ? "any" : each.gates.join(", ")}</td>
          <td data-label="Made"><span title="by ${each.created_by}"><${Time} at=${each.created_at} /></span></td>
          <td data-label="Last used"><${Time} at=${each.last_used_at} none="never" /></td>
          <td data-label="Expires"><${Time} at=${each.expires_at} none="never" /></td>
          <td>${each.revoked_at ? html`<span class="badge state-dead">revoked <${Time} at=${each.revoked_at} /></span>`
            : html`<button class="danger" aria-label="Revoke ${each.token_id} of ${each.owner}" onClick=${() => onRevoke(each)}>Revoke…</button>`}</td>
        </tr>`)}</tbody></table></div>`;
}

function Revoke({ token, reload, onClose }) {
  const act = () => attempt("Revoked: it is refused everywhere within 5 s", async () => {
    await send("DELETE", `/tokens/${part(token.token_id)}`);
    reload();
  });
  return html`
    <${Ask} title="Revoke the token ${token.token_id} of ${token.owner}?" button="Revoke it" kind="danger" act=${act} onClose=${onClose}>
      <p>It is refused from then on, its sessions end, and so does what it follows. This cannot be undone; a new one can be made.</p>
    <//>`;
}
