// The limit of a gate, edited in place; its weight, and its pause.
import { part, send } from "../api/calls.js";
import { html } from "../lib.js";
import { count } from "../words.js";
import { InPlace } from "./in-place.js";
import { NumberField } from "./number-field.js";
import { attempt } from "./trouble.js";

const LIMIT_MAX = 1_000_000_000_000_000;

// `load`: what `GET /gates` tells of it, if anything.
export function LimitCell({ gate, load, mayChange, reload }) {
  const limit = load?.limit ?? null;
  const isOperators = limit !== null && load.limited_by === gate && !load.declared;
  const how = limit === null ? "Any number may run at once"
    : `At most so many run at once; set for ${load.limited_by ?? gate}, ${load.declared ? "declared by an actor" : "by an operator"}`;
  const text = limit === null ? "none" : load.auto ? `${load.auto}, now ${count(limit)}` : count(limit);
  return html`<${InPlace} what="Limit" gate=${gate} text=${text} how=${how}
    begin=${limit === null ? "" : String(limit)} mayChange=${mayChange} reload=${reload}
    field=${(name, draft, take) => html`<${NumberField} label=${name} value=${draft} least="0" most=${LIMIT_MAX} onInput=${take} />`}
    save=${(draft) => send("PUT", `/limits/${part(gate)}`, { limit: Number(draft) })}
    lift=${isOperators && (() => send("DELETE", `/limits/${part(gate)}`))} />`;
}

// The weight of a gate in fair lanes, if it has one.
export function Weight({ load }) {
  if (!load || load.weight === 1) return null;
  return html` <small class="faint" title="In fair lanes, one with twice the weight of another starts twice as often">weight ${load.weight}</small>`;
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
