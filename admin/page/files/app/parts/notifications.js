// Notifications of a queue, a trigger or an item: where they go, what was not delivered and why; and a button that tries the address.
import { get, part, send, withQuery } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { count, plural } from "../words.js";
import { Card, Code, Time } from "./basics.js";
import { Trouble } from "./trouble.js";

const EVERY = { concerns: () => false, everyMs: 5000 };
const ASKED_MS = 500;
const PATIENCE_MS = 60_000;

// `subject`: "queue" or "trigger"; `of`: it, with its name and address.
export function Notifications({ subject, of: { id, name, notify_url: url } }) {
  const { data, problem, reload } = useResource(withQuery("/notifications", { subject, name }), EVERY);
  const test = url && html`<${Test} path=${`/${subject}s/${part(id)}/test-notification`} name=${name} reload=${reload} />`;
  return html`
    <${Card} title="Notifications" note=${url ? `to ${url}` : "nobody is told"} action=${test}>
      <${Trouble} problem=${problem} />
      ${!url && html`<p class="faint">An address is told of what ends badly:</p>
        <${Code}>bandmaster ${subject} change ${name} --notify https://hooks.example/bandmaster<//>`}
      ${data && (data.notifications.length
        ? html`<p>${count(data.waiting)} ${data.waiting === 1 ? "waits" : "wait"}, ${count(data.failed)} ${data.failed === 1 ? "was" : "were"} given up.</p>
            <${Rows} rows=${data.notifications} />`
        : html`<p class="faint">Nothing waits, and nothing was given up.</p>`)}
    <//>`;
}

// What was told of an item, also what its receiver took.
export function NotificationsOfItem({ id }) {
  const { data } = useResource(withQuery("/notifications", { item_id: id, taken: true }), EVERY);
  if (!data?.notifications.length) return null;
  return html`<${Card} title="Notifications" note="of this item"><${Rows} rows=${data.notifications} /><//>`;
}

function Rows({ rows }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Notifications"><table class="rows">
      <thead><tr><th scope="col">What</th><th scope="col">Written</th><th scope="col" class="number">Tries</th>
        <th scope="col">Delivery</th><th scope="col">Problem</th></tr></thead>
      <tbody>${rows.map((each) => html`
        <tr key=${each.id} data-row=${each.id}>
          <td class="text" data-label="What">${each.event}</td>
          <td data-label="Written"><${Time} at=${each.created_at} /></td>
          <td class="number" data-label="Tries">${count(each.attempts)}</td>
          <td data-label="Delivery"><${Delivery} of=${each} /></td>
          <td class="text" data-label="Problem"><span class="reason">${each.last_problem ?? ""}</span></td>
        </tr>`)}</tbody></table></div>`;
}

function Delivery({ of: { state, sent_at: sent, failed_at: failed, again_at: again } }) {
  if (state === "sent") return html`<span class="badge state-COMPLETED">sent</span> <${Time} at=${sent} />`;
  if (state === "failed") return html`<span class="badge state-dead">given up</span> <${Time} at=${failed} />`;
  return html`<span class="badge state-PENDING">waits</span> <${Time} at=${again} />`;
}

function Test({ path, name, reload }) {
  const [said, setSaid] = useState(null);
  async function test() {
    setSaid({ text: "It is under way…" });
    try {
      setSaid(await outcome(await send("POST", path)));
    } catch (problem) {
      setSaid({ isBad: true, text: `Not tried: ${problem.message}` });
    }
    reload();
  }
  return html`
    <button aria-label="Test the address of ${name}" disabled=${said?.text.endsWith("…")} onClick=${test}
      title="Sends a signed notification of the type test, once">Test</button>
    <span role="status" class=${said?.isBad ? "bad" : "faint"}>${said?.text ?? ""}</span>`;
}

async function outcome(sent) {
  const until = Date.now() + PATIENCE_MS;
  let found = sent;
  while (found.state === "waiting" && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, ASKED_MS));
    found = await get(`/notifications/${part(sent.id)}`);
  }
  if (found.state === "sent") return { text: `Delivered: the receiver answered with ${found.last_status}` };
  const why = found.state === "failed" ? found.last_problem : `no process has sent it within ${plural(PATIENCE_MS / 1000, "second")}`;
  return { isBad: true, text: `Not delivered: ${why}` };
}
