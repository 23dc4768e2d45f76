// By which kind of gates a lane is fair, edited in place.
import { part, send } from "../api/calls.js";
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { InPlace } from "./in-place.js";
import { Trouble } from "./trouble.js";
import { TypedField } from "./typed-field.js";

const KIND_LIKE = "user, or what precedes the colon of gates such as tenant:acme";

export function FairBy({ lane, mayChange }) {
  const { data, problem, reload } = useResource(`/shares/${part(lane)}`, { concerns: () => false, everyMs: 30_000 });
  if (!data) return html`<${Trouble} problem=${problem} />`;
  const how = data.kind === null ? "Strict: within a band, what was accepted first starts first"
    : `Within a band the gates of the kind ${data.kind} take turns`;
  return html`<p>Order of lane ${lane}: <${InPlace} what="Order" gate=${`lane ${lane}`} text=${data.kind === null ? "strict" : `fair by ${data.kind}`}
    how=${how} begin=${data.kind ?? "user"} mayChange=${mayChange} reload=${reload}
    field=${(name, draft, take) => html`<${TypedField} label=${name} value=${draft} pattern="[^:*]+" like=${KIND_LIKE} placeholder="user" onInput=${take} />`}
    save=${(draft) => send("PUT", `/shares/${part(lane)}`, { kind: draft })}
    lift=${data.kind !== null && (() => send("DELETE", `/shares/${part(lane)}`))} /></p>`;
}
