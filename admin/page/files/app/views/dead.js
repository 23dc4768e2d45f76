import { html } from "../lib.js";

export function DeadLetters() {
  return html`<h1>DeadLetters</h1>`;
}
