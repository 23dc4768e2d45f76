// The limit of a gate, edited in place, and its pause.
import { part, send } from "../api/calls.js";
import { html } from "../lib.js";
import { count } from "../words.js";
import { InPlace } from "./in-place.js";
import { attempt } from "./trouble.js";
import { TypedField } from "./typed-field.js";

const LIMIT_PATTERN = "[0-9]{1,15}|auto\\([0-9]+, ?[0-9]+\\)";
const LIMIT_LIKE = "A number, or auto(2,50) for a limit that adjusts itself between 2 and 50";

// `load`: what `GET /gates` tells of it, if anything.
export function LimitCell({ gate, load, mayChange, reload }) {
  const limit = load?.limit ?? null;
  const isOperators = limit !== null && load.limited_by === gate && !load.declared;
  const how = limit === null ? "Any number may run at once"
    : `At most so many run at once; set for ${load.limited_by ?? gate}, ${load.declared ? "declared by an actor" : "by an operator"}`;
  const text = limit === null ? "none" : load.auto ? `${load.auto}, now ${count(limit)}` : count(limit);
  return html`<${InPlace} what="Limit" gate=${gate} text=${text} how=${how}
    begin=${load?.auto ?? (limit === null ? "" : String(limit))} mayChange=${mayChange} reload=${reload}
    field=${(name, draft, take) => html`<${TypedField} label=${name} value=${draft} pattern=${LIMIT_PATTERN} like=${LIMIT_LIKE} onInput=${take} />`}
    save=${(draft) => send("PUT", `/limits/${part(gate)}`, wanted(draft, limit))}
    lift=${isOperators && (() => send("DELETE", `/limits/${part(gate)}`))} />`;
}

// One that adjusts itself begins with the limit that holds, or else with its least.
function wanted(draft, limit) {
  if (!draft.startsWith("auto")) return { limit: Number(draft) };
  const [least, most] = draft.match(/[0-9]+/g).map(Number);
  return { limit: Math.min(Math.max(limit ?? least, least), most), auto: draft };
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
