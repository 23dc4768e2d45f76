// The weight of a gate in fair lanes, edited in place.
import { part, send } from "../api/calls.js";
import { html } from "../lib.js";
import { count } from "../words.js";
import { InPlace } from "./in-place.js";
import { NumberField } from "./number-field.js";

const MOST_WEIGHT = 1000;
const UNWEIGHED = 1;

// `load`: what `GET /gates` tells of it, if anything.
export function WeightCell({ gate, load, mayChange, reload }) {
  const weight = load?.weight ?? UNWEIGHED;
  return html`<${InPlace} what="Weight" gate=${gate} text=${count(weight)} how="In fair lanes, one with twice the weight of another starts twice as often"
    begin=${String(weight)} mayChange=${mayChange} reload=${reload}
    field=${(name, draft, take) => html`<${NumberField} label=${name} value=${draft} least=${UNWEIGHED} most=${MOST_WEIGHT} onInput=${take} />`}
    save=${(draft) => send("PUT", `/weights/${part(gate)}`, { weight: Number(draft) })}
    lift=${weight !== UNWEIGHED && (() => send("DELETE", `/weights/${part(gate)}`))} />`;
}
