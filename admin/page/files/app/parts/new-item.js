// A new item of a queue, typed in.
import { send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { Card } from "./basics.js";
import { say } from "./trouble.js";

export function NewItem({ queue, reload }) {
  const [reference, setReference] = useState("");
  const [priority, setPriority] = useState("0");
  const [payload, setPayload] = useState("");
  const to = (set) => (event) => set(event.target.value);
  async function add(event) {
    event.preventDefault();
    try {
      const body = { queue_name: queue, reference: reference || null, priority: Number(priority), payload: payload ? JSON.parse(payload) : null };
      await send("POST", "/queue-items", body);
      say(`${reference || "An item"} is added`);
      for (const empty of [setReference, setPayload]) empty("");
    } catch (problem) {
      if (problem instanceof SyntaxError) say(`Nothing was added: the payload is no JSON: ${problem.message}`);
      else say("Nothing was added: ", problem);
    }
    reload();
  }
  return html`
    <${Card} title="A new item">
      <form class="form" onSubmit=${add}>
        <label>Reference<input name="reference" maxlength="256" autocomplete="off" value=${reference} onInput=${to(setReference)} /></label>
        <label title="The larger is handed out first">Priority<input name="priority" type="number" required value=${priority} onInput=${to(setPriority)} /></label>
        <label>Payload as JSON<input name="payload" autocomplete="off" placeholder='{"invoice": 17}' value=${payload} onInput=${to(setPayload)} /></label>
        <button class="main">Add item</button>
      </form>
    <//>`;
}
