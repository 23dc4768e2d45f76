// What an execution runs: its script or command, and what it asked for.
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { Card, Code } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

const SHOWN_ELSEWHERE = new Set(["version", "execution_id", "event_type", "script", "command", "priority", "action", "gates", "metadata"]);

export function Runs({ path }) {
  const { data, problem } = useResource(`${path}/payload`, { concerns: () => false, everyMs: 60_000 });
  if (problem?.status === 404) {
    return html`<${Card} title="What it runs"><p class="faint">${problem.message}</p><//>`;
  }
  const event = data?.event;
  const asked = Object.entries(event ?? {}).filter(([name]) => !SHOWN_ELSEWHERE.has(name));
  return html`
    <${Card} title="What it runs">
      <${Trouble} problem=${problem} />
      ${event?.script && html`<${Code}>${event.script}<//>`}
      ${event?.command && html`<${Code}>${event.command.map(quoted).join(" ")}<//>`}
      ${event && html`<dl class="pairs">
        ${asked.map(([name, value]) => html`<dt>${name}</dt><dd>${text(value)}</dd>`)}
        ${Object.entries(event.metadata?.labels ?? {}).map(([name, value]) => html`<dt>label ${name}</dt><dd>${text(value)}</dd>`)}
      </dl>`}
    <//>
  `;
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
