// What may be done to an execution: only what its state and the caller's scope allow is shown.
import { send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { go } from "../route.js";
import { BANDS, TERMINAL, WAITING, band } from "../words.js";
import { Ask } from "../parts/dialog.js";
import { attempt } from "../parts/trouble.js";

export function Buttons({ execution, caller, path, reload }) {
  const [asks, setAsks] = useState(null);
  if (!caller.mayChange(execution)) return null;
  const close = () => setAsks(null);
  const given = { execution, caller, path, reload, onClose: close };
  const mayEnd = !TERMINAL.has(execution.state) && execution.state !== "CANCELLING";
  return html`
    <span class="buttons">
      ${WAITING.has(execution.state) && html`<button onClick=${() => setAsks("move")}>Priority…</button>`}
      ${mayEnd && html`<button class="danger" onClick=${() => setAsks("cancel")}>Cancel…</button>`}
      ${execution.dead && html`<button onClick=${() => setAsks("retry")}>Run again…</button>`}
    </span>
    ${asks === "cancel" && html`<${Cancel} ...${given} />`}
    ${asks === "move" && html`<${Move} ...${given} />`}
    ${asks === "retry" && html`<${Retry} ...${given} />`}
  `;
}

function Cancel({ path, reload, onClose }) {
  const [reason, setReason] = useState("");
  const act = () => attempt("Cancelled", async () => {
    const done = await send("POST", `${path}/cancel`, { reason: reason.trim() || "cancelled" });
    reload();
    return TERMINAL.has(done.state) ? "Cancelled" : "Asked to end: it keeps its slot until its pod or thread is gone";
  });
  return html`
    <${Ask} title="Cancel this execution?" button="Cancel it" kind="danger" act=${act} onClose=${onClose}>
      <p>One that waits ends at once. One that runs is asked to end, and keeps its slot until it has.</p>
      <label>Why <input name="reason" maxlength="200" placeholder="cancelled" value=${reason}
        onInput=${(event) => setReason(event.target.value)} /></label>
    <//>`;
}

function Move({ execution, caller, path, reload, onClose }) {
  const allowed = caller.may("admin") ? BANDS : BANDS.slice(BANDS.indexOf(caller.maxBand));
  const [to, setTo] = useState(execution.priority);
  const act = () => attempt("Moved", async () => {
    await send("PUT", `${path}/priority`, { priority: to });
    reload();
    return `Moved to ${band(to)}`;
  });
  return html`
    <${Ask} title="Move to another priority" button="Move it" act=${act} onClose=${onClose}>
      <p>It keeps the time at which it was accepted, and so its place among those of the new priority.</p>
      <label>Priority <select name="priority" value=${to} onChange=${(event) => setTo(event.target.value)}>
        ${allowed.map((each) => html`<option value=${each}>${band(each)}</option>`)}
      </select></label>
    <//>`;
}

function Retry({ path, onClose }) {
  const act = () => attempt("Accepted again", async () => {
    const done = await send("POST", `${path}/retry`);
    go(["executions", done.new_execution_id]);
    return `Accepted again as ${done.new_execution_id}`;
  });
  return html`
    <${Ask} title="Run this dead letter again?" button="Run it again" act=${act} onClose=${onClose}>
      <p>The same work is accepted under a new id, and this letter is dropped. Its history stays.</p>
    <//>`;
}
