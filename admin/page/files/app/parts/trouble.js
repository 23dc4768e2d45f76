// Problems: what the API says, and what to do.
import { html } from "../lib.js";
import { signal, useSignal } from "../signal.js";

export function Trouble({ problem, kind = "trouble" }) {
  if (!problem) return null;
  return html`
    <div class=${kind} role="alert">
      <b>${problem.message}</b>${problem.advice && html` <span>${problem.advice}</span>`}
      ${problem.code && html` <code>${problem.code}</code>`}
    </div>
  `;
}

const said = signal([]);
let number = 0;

// What was done, for some seconds; a problem until it is closed.
export function say(text, problem = null) {
  const entry = { number: (number += 1), text, problem };
  said.set([...said.get(), entry].slice(-4));
  if (!problem) setTimeout(() => forget(entry), 6000);
}

function forget(entry) {
  said.set(said.get().filter((each) => each !== entry));
}

export function Said() {
  const entries = useSignal(said);
  return html`
    <div class="said" aria-live="polite">
      ${entries.map((each) => html`
        <div key=${each.number} class=${each.problem ? "bad" : ""}>
          <span>${each.text} ${each.problem && html`${each.problem.message} ${each.problem.advice}`}</span>
          <button class="plain" aria-label="Close this message" onClick=${() => forget(each)}>✕</button>
        </div>`)}
    </div>
  `;
}

// Does something for a button, and says what came of it.
export async function attempt(text, act) {
  try {
    const done = await act();
    say(typeof done === "string" ? done : text);
    return true;
  } catch (problem) {
    say(`${text}: `, problem);
    return false;
  }
}
