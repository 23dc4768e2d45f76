// The limit of a gate, edited in place; and its pause.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { count } from "../words.js";
import { NumberField } from "./number-field.js";
import { attempt } from "./trouble.js";

const LIMIT_MAX = 1_000_000_000_000_000;

// `load`: what `GET /gates` tells of it, if it has a limit or a pause.
export function LimitCell({ gate, load, mayChange, reload }) {
  const [draft, setDraft] = useState(null);
  const limit = load?.limit ?? null;
  const isOwn = limit !== null && load.limited_by === gate;
  const text = limit === null ? "none" : count(limit);
  const how = limit === null ? "Any number may run at once"
    : `At most so many run at once; set for ${load.limited_by ?? gate}, ${load.declared ? "declared by an actor" : "by an operator"}`;
  if (!mayChange) return html`<span title=${how}>${text}</span>`;

  async function save(event) {
    event.preventDefault();
    if (await attempt(`Limit of ${gate} is ${draft}`, () => send("PUT", `/limits/${part(gate)}`, { limit: Number(draft) }))) end();
  }
  async function lift() {
    if (await attempt(`Limit of ${gate} lifted`, () => send("DELETE", `/limits/${part(gate)}`))) end();
  }
  function end() {
    setDraft(null);
    reload();
  }
  if (draft === null) {
    return html`<button class="link" title="${how}. Change it" aria-label="Limit of ${gate}: ${text}. Change it"
      onClick=${() => setDraft(limit === null ? "" : String(limit))}>${text}</button>`;
  }
  return html`
    <form class="inline" onSubmit=${save} onKeyDown=${(event) => event.key === "Escape" && setDraft(null)}>
      <${NumberField} label="Limit of ${gate}" value=${draft} least="0" most=${LIMIT_MAX} onInput=${setDraft} />
      <button class="main">Set</button>
      ${isOwn && !load.declared && html`<button type="button" onClick=${lift}>Lift</button>`}
      <button type="button" aria-label="Leave the limit" onClick=${() => setDraft(null)}>✕</button>
    </form>`;
}

export function PauseButton({ name, isPaused, mayChange, reload }) {
  if (!mayChange) return isPaused ? html`<span class="badge state-dead">paused</span>` : null;
  const text = name === "*" ? "everything" : name;
  async function turn() {
    const done = isPaused ? `${text} goes on` : `${text} is paused: what runs goes on, and nothing starts`;
    await attempt(done, () => send(isPaused ? "DELETE" : "PUT", `/pauses/${part(name)}`));
    reload();
  }
  return html`
    ${isPaused && html`<span class="badge state-dead">paused</span> `}
    <button onClick=${turn} aria-label="${isPaused ? "Resume" : "Pause"} ${text}">${isPaused ? "Resume" : "Pause"}${name === "*" ? " everything" : ""}</button>`;
}
