// Files of items: one is chosen or dropped, sent, and told of; and what the filters show is exported.
import { V1, part, sendFile, withQuery } from "../api/calls.js";
import { html, useRef, useState } from "../lib.js";
import { bytes, count, plural } from "../words.js";
import { Card } from "./basics.js";
import { Trouble, say } from "./trouble.js";

export function ItemFiles({ queue, filters, reload }) {
  const [each, setEach] = useState(false);
  const [isOver, setOver] = useState(false);
  // What is sent: the file, and how much of it; none: nothing is.
  const [sending, setSending] = useState(null);
  const [outcome, setOutcome] = useState(null);
  const last = useRef(null);

  async function send(file, key) {
    last.current = { file, key };
    setOutcome(null);
    setSending({ file, sent: 0 });
    const path = withQuery(`/queues/${part(queue)}/items/upload`, { mode: each ? "each" : "all" });
    const type = file.name.toLowerCase().endsWith(".csv") ? "text/csv" : "application/x-ndjson";
    try {
      const report = await sendFile(path, file, { type, key, onSent: (sent) => setSending({ file, sent }) });
      setOutcome({ report });
      say(`${plural(report.added, "item")} of ${file.name} added`);
    } catch (problem) {
      setOutcome({ problem, report: problem });
    }
    setSending(null);
    reload();
  }
  const take = (files) => {
    if (files.length && !sending) send(files[0], newKey());
  };
  const drag = (over) => (event) => {
    event.preventDefault();
    setOver(over);
  };
  const drop = (event) => {
    drag(false)(event);
    take(event.dataTransfer.files);
  };
  const choose = (event) => {
    take(event.target.files);
    // So that the same file can be chosen again.
    event.target.value = "";
  };
  return html`
    <${Card} title="Items from a file">
      <div class="drop ${isOver ? "over" : ""}" onDragEnter=${drag(true)} onDragOver=${drag(true)} onDragLeave=${drag(false)} onDrop=${drop}>
        <label>Choose a file of JSON Lines or CSV, or drop it here
          <input type="file" accept=".jsonl,.ndjson,.csv" disabled=${Boolean(sending)} onChange=${choose} /></label>
        <label class="check"><input type="checkbox" checked=${each} disabled=${Boolean(sending)} onChange=${(event) => setEach(event.target.checked)} />
          Add each line that is right, although others are wrong</label>
        ${sending && html`<${Sending} ...${sending} />`}
      </div>
      <p class="faint">What is listed here, as a file with payloads and results:
        ${" "}<${Export} queue=${queue} filters=${filters} format="jsonl">JSON Lines<//>,
        ${" "}<${Export} queue=${queue} filters=${filters} format="csv">CSV<//></p>
      <${Trouble} problem=${outcome?.problem} />
      ${outcome?.problem && last.current && outcome.problem.code === "unreachable" && html`
        <p class="buttons"><button onClick=${() => send(last.current.file, last.current.key)}>Send it again</button>
          <small class="faint">No line is added twice.</small></p>`}
      ${outcome?.report.refused > 0 && html`<${Refused} report=${outcome.report} />`}
    <//>`;
}

function Sending({ file, sent }) {
  const isSent = sent >= file.size;
  return html`
    <p><progress max=${file.size || 1} value=${sent} aria-label="What was sent of the file"></progress>
      <small role="status">${isSent ? `${file.name} is sent, and its items are added…` : `${bytes(sent)} of ${bytes(file.size)} of ${file.name} are sent`}</small></p>`;
}

function Refused({ report: { refused, lines } }) {
  return html`
    <p>${plural(refused, "line is", "lines are")} refused${lines.length < refused ? `; the first ${count(lines.length)} of them:` : ":"}</p>
    <div class="scroll flush" tabindex="0" role="region" aria-label="Refused lines"><table class="rows">
      <thead><tr><th scope="col" class="number">Line</th><th scope="col">Field</th><th scope="col">What is wrong</th></tr></thead>
      <tbody>${lines.map((each) => html`
        <tr key=${each.line} data-row=${each.line}>
          <td class="number" data-label="Line">${count(each.line)}</td>
          <td class="text" data-label="Field">${each.field}</td>
          <td class="text" data-label="What is wrong">${each.problem}</td>
        </tr>`)}</tbody></table></div>`;
}

function Export({ queue, filters, format, children }) {
  return html`<a download href=${V1 + withQuery(`/queues/${part(queue)}/items/export`, { format, ...filters })}>${children}</a>`;
}

function newKey() {
  // Not `randomUUID`, which a page without TLS does not have.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0")).join("");
}
