// A number that is edited in place: it has the focus as soon as it is there.
import { html, useEffect, useRef } from "../lib.js";

export function NumberField({ label, value, least, most, onInput }) {
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  return html`
    <input type="number" ref=${field} min=${least} max=${most} step="1" required aria-label=${label} value=${value}
      onInput=${(event) => onInput(event.target.value)} />`;
}
