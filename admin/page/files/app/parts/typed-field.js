// A text that is edited in place: it has the focus as soon as it is there.
import { html, useEffect, useRef } from "../lib.js";

// `pattern`: what may stand there, and `like`: the same in words.
export function TypedField({ label, value, pattern, like, placeholder, onInput }) {
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  return html`
    <input type="text" ref=${field} required pattern=${pattern} title=${like} placeholder=${placeholder} size="14" aria-label=${label}
      value=${value} onInput=${(event) => onInput(event.target.value)} />`;
}
