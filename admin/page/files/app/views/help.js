// What the keyboard does.
import { html } from "../lib.js";
import { Dialog } from "../parts/dialog.js";

const KEYS = [
  ["/", "search executions"],
  ["j, k", "the next and the one before, in a list"],
  ["Enter", "open what is focused"],
  ["g, then n e a d c q s u t", "go to Now, Executions, Actions, Dead letters, Schedules, Queues, Settings, Audit, Tokens"],
  ["Esc", "close a question"],
  ["?", "this"],
];

export function Help({ onClose }) {
  return html`
    <${Dialog} title="Keys" onClose=${onClose}>
      <dl class="keys">${KEYS.map(([keys, does]) => html`<dt><kbd>${keys}</kbd></dt><dd>${does}</dd>`)}</dl>
      <p class="faint">Times are relative; hold the pointer on one for the absolute, and on a number for how it is computed.</p>
    <//>
  `;
}
