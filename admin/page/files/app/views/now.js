import { html } from "../lib.js";

export function Now() {
  return html`<h1>Now</h1>`;
}
