import { html } from "../lib.js";

export function Settings() {
  return html`<h1>Settings</h1>`;
}
