import { html } from "../lib.js";

export function Tokens() {
  return html`<h1>Tokens</h1>`;
}
