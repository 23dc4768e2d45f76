// What holds for a gate, edited in place: a button with its text, and behind that a form.
import { html, useState } from "../lib.js";
import { attempt } from "./trouble.js";

// `what`: as in "Limit of tenant:acme". `text`: as it is; `how`: what it means; `begin`: with what the form begins. `field`: of a draft and
// of what takes the next one. `save`, `lift`: calls; without `lift` it cannot be lifted here.
export function InPlace({ what, gate, text, how, begin, field, save, lift, mayChange, reload }) {
  const [draft, setDraft] = useState(null);
  const name = `${what} of ${gate}`;
  if (!mayChange) return html`<span title=${how}>${text}</span>`;

  async function change(done, call) {
    if (!await attempt(done, call)) return;
    setDraft(null);
    reload();
  }
  function set(event) {
    event.preventDefault();
    change(`${name} is ${draft}`, () => save(draft));
  }
  if (draft === null) {
    return html`<button class="link" title="${how}. Change it" aria-label="${name}: ${text}. Change it"
      onClick=${() => setDraft(begin)}>${text}</button>`;
  }
  return html`
    <form class="inline" onSubmit=${set} onKeyDown=${(event) => event.key === "Escape" && setDraft(null)}>
      ${field(name, draft, setDraft)}
      <button class="main">Set</button>
      ${lift && html`<button type="button" onClick=${() => change(`${name} lifted`, lift)}>Lift</button>`}
      <button type="button" aria-label="Leave the ${what.toLowerCase()}" onClick=${() => setDraft(null)}>✕</button>
    </form>`;
}
