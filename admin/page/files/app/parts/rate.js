// The rate of a gate, edited in place; and what there is to see of it.
import { part, send } from "../api/calls.js";
import { html } from "../lib.js";
import { useSignal } from "../signal.js";
import { absolute, second, upcoming } from "../times.js";
import { InPlace } from "./in-place.js";
import { TypedField } from "./typed-field.js";

export const RATE_LIKE = "100/m, 5/s or 1/10s; with a burst behind it, as in 5/s burst 10";
export const RATE_PATTERN = "[0-9]+/[0-9]*(ms|s|m|h|d)( burst [0-9]+)?";

// `load`: what `GET /gates` tells of it, if anything.
export function RateCell({ gate, load, mayChange, reload }) {
  const rate = load?.rate ?? null;
  const isOperators = rate !== null && load.rated_by === gate && !load.rate_declared;
  const how = rate === null ? "Any number may start in any time"
    : `At most so many start in a time; set for ${load.rated_by}, ${load.rate_declared ? "declared by an actor" : "by an operator"}`;
  return html`<${InPlace} what="Rate" gate=${gate} text=${rate ?? "none"} how=${how} begin=${rate ?? ""} mayChange=${mayChange} reload=${reload}
    field=${(name, draft, take) => html`<${TypedField} label=${name} value=${draft} pattern=${RATE_PATTERN} like=${RATE_LIKE} placeholder="100/m" onInput=${take} />`}
    save=${(draft) => send("PUT", `/rates/${part(gate)}`, { rate: draft })}
    lift=${isOperators && (() => send("DELETE", `/rates/${part(gate)}`))} />
    <${Opens} load=${load} />`;
}

// While its rate keeps a gate closed: when it opens.
export function Opens({ load }) {
  useSignal(second);
  if (!load?.opens_at || !load.waiting) return null;
  const when = upcoming(load.opens_at);
  return html` <span class="badge state-PENDING" title=${`Its rate lets the next one through: ${absolute(load.opens_at)}`}>opens ${when}</span>`;
}
