import { html } from "../lib.js";

export function Audit() {
  return html`<h1>Audit</h1>`;
}
