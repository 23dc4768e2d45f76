import { html } from "../lib.js";

export function Actions() {
  return html`<h1>Actions</h1>`;
}
