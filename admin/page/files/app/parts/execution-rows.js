// Executions as rows of a table; on a phone, as cards.
import { html } from "../lib.js";
import { href } from "../route.js";
import { useSignal } from "../signal.js";
import { duration, nowMs, second } from "../times.js";
import { Band, StateBadge, Time } from "./basics.js";

const ms = (text) => (text ? Date.parse(text) : null);

export function waitedMs(execution, now) {
  const from = ms(execution.due_at) ?? ms(execution.accepted_at);
  const until = ms(execution.granted_at) ?? ms(execution.ended_at) ?? (execution.state === "SCHEDULED" ? from : now);
  return from === null || until === null ? null : Math.max(0, until - from);
}

export function ranMs(execution, now) {
  const from = ms(execution.started_at) ?? ms(execution.granted_at);
  if (from === null || execution.state === "PENDING" || execution.state === "SCHEDULED") return null;
  return Math.max(0, (ms(execution.ended_at) ?? now) - from);
}

export function ExecutionRows({ executions, isDim }) {
  useSignal(second);
  const now = nowMs();
  return html`
    <div class="scroll ${isDim ? "dim" : ""}" tabindex="0" role="region" aria-label="Executions">
      <table class="rows">
        <thead><tr>
          <th scope="col">Execution</th><th scope="col">State</th><th scope="col">Priority</th><th scope="col">Action</th>
          <th scope="col">User</th><th scope="col" title="When it was accepted">Accepted</th>
          <th scope="col" class="number" title="From when it was accepted, or due, until it was granted a slot; of the latest attempt">Waited</th>
          <th scope="col" class="number" title="From its start to its end, or until now; of the latest attempt">Ran</th>
        </tr></thead>
        <tbody>
          ${executions.map((each) => html`
            <tr key=${each.execution_id} data-row=${each.execution_id}>
              <td data-label="Execution"><a class="id" href=${href(["executions", each.execution_id])}>${each.execution_id}</a></td>
              <td data-label="State"><${StateBadge} execution=${each} />
                ${each.reason && each.state !== "COMPLETED" && html` <small class="reason">${each.reason}</small>`}</td>
              <td data-label="Priority"><${Band} name=${each.priority} /></td>
              <td data-label="Action">${each.action ?? "–"}</td>
              <td data-label="User">${each.user_id ?? "–"}</td>
              <td data-label="Accepted"><${Time} at=${each.accepted_at} /></td>
              <td data-label="Waited" class="number">${duration(waitedMs(each, now))}</td>
              <td data-label="Ran" class="number">${duration(ranMs(each, now))}</td>
            </tr>`)}
        </tbody>
      </table>
    </div>
  `;
}
