// Actions, users and other gates: their figures, with limits, rates and weights edited in place, and pauses.
import { part, send } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href } from "../route.js";
import { count } from "../words.js";
import { Card, Code, Empty } from "../parts/basics.js";
import { LimitCell, PauseButton } from "../parts/limit.js";
import { RATE_LIKE, RATE_PATTERN, RateCell } from "../parts/rate.js";
import { Trouble, attempt } from "../parts/trouble.js";
import { WeightCell } from "../parts/weight.js";
import { WaitedSums } from "./waited.js";

export function Actions({ caller }) {
  const mayChange = caller.may("operate");
  const actions = useResource("/actions");
  const gates = useResource("/gates");
  const users = useResource(mayChange ? "/users" : null);
  const loads = new Map((gates.data?.gates ?? []).map((each) => [each.gate, each]));
  const given = { loads, mayChange, reload: gates.reload };
  const all = loads.get("*");
  return html`
    <div class="heading">
      <h1>Actions and users</h1>
      <span class="buttons"><${PauseButton} name="*" isPaused=${Boolean(all?.paused)} mayChange=${mayChange} reload=${gates.reload} /></span>
    </div>
    <${Trouble} problem=${actions.problem ?? gates.problem} />
    ${actions.data && html`<${ActionTable} actions=${actions.data.actions} ...${given} />`}
    ${mayChange && html`
      <div class="columns">
        <${Users} users=${users} ...${given} />
        <${Others} ...${given} />
      </div>`}
    <${WaitedSums} />
  `;
}

function ActionTable({ actions, loads, mayChange, reload }) {
  if (!actions.length) {
    return html`<${Empty} title="No action was counted yet.">
      <p>An action is what an execution counts as; limits, rates, pauses and figures are by it.</p>
      <${Code}>bandmaster submit --action report -- make report<//>
    <//>`;
  }
  return html`
    <${Card} title="Actions" note="those that are used the most first">
      <div class="scroll" tabindex="0" role="region" aria-label="Actions"><table class="rows">
        <thead><tr><th scope="col">Action</th><th scope="col" class="number" title="Executions of it that are due and wait">Waiting</th>
          <th scope="col" class="number" title="Executions of it that hold a slot">Running</th>
          <th scope="col" class="number" title="How many of it may run at once, over all workers">Limit</th>
          <th scope="col" title="How many of it may start in a time, over all workers">Rate</th>
          <th scope="col" class="number" title="Accepted since figures of it are kept">Accepted</th>
          <th scope="col" class="number" title="Ended since then, in whatever terminal state">Ended</th>
          <th scope="col">Pause</th></tr></thead>
        <tbody>${actions.map((each) => {
          const gate = `action:${each.action}`;
          const given = { gate, load: loads.get(gate), mayChange, reload };
          return html`<tr key=${gate} data-row=${gate}>
            <td class="text" data-label="Action"><a href=${href(["executions"], { action: each.action })}>${each.action}</a></td>
            <td class="number" data-label="Waiting">${count(each.queue_length)}</td>
            <td class="number" data-label="Running">${count(each.active_count)}</td>
            <td class="number" data-label="Limit"><${LimitCell} ...${given} /></td>
            <td class="text" data-label="Rate"><${RateCell} ...${given} /></td>
            <td class="number" data-label="Accepted">${count(each.total_enqueued)}</td>
            <td class="number" data-label="Ended">${count(each.total_completed)}</td>
            <td data-label="Pause"><${PauseButton} name=${gate} isPaused=${Boolean(loads.get(gate)?.paused)} mayChange=${mayChange} reload=${reload} /></td>
          </tr>`;
        })}</tbody></table></div>
    <//>`;
}

function Users({ users: { data, problem }, loads, mayChange, reload }) {
  const ofAll = { gate: "user:*", load: loads.get("user:*"), mayChange, reload };
  return html`
    <${Card} title="Users" note="those with the most waiting first">
      <${Trouble} problem=${problem} />
      <div class="scroll" tabindex="0" role="region" aria-label="Users"><table class="rows">
        <thead><tr><th scope="col">User</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Running</th>
          <th scope="col" class="number" title="How many of theirs may run at once">Limit</th>
          <th scope="col" title="How many of theirs may start in a time">Rate</th>
          <th scope="col" class="number" title="In fair lanes, one with twice the weight of another starts twice as often">Weight</th><th scope="col">Pause</th></tr></thead>
        <tbody>
          <tr data-row="user:*"><td data-label="User">each user</td><td></td><td></td>
            <td class="number" data-label="Limit"><${LimitCell} ...${ofAll} /></td>
            <td class="text" data-label="Rate"><${RateCell} ...${ofAll} /></td><td></td><td></td></tr>
          ${(data?.users ?? []).map((each) => {
            const gate = `user:${each.user_id}`;
            const given = { gate, load: loads.get(gate), mayChange, reload };
            return html`<tr key=${gate} data-row=${gate}>
              <td class="text" data-label="User"><a href=${href(["executions"], { user: each.user_id })}>${each.user_id}</a></td>
              <td class="number" data-label="Waiting">${count(each.waiting)}</td>
              <td class="number" data-label="Running">${count(each.running)}</td>
              <td class="number" data-label="Limit"><${LimitCell} ...${given} /></td>
              <td class="text" data-label="Rate"><${RateCell} ...${given} /></td>
              <td class="number" data-label="Weight"><${WeightCell} ...${given} /></td>
              <td data-label="Pause"><${PauseButton} name=${gate} isPaused=${Boolean(loads.get(gate)?.paused)} mayChange=${mayChange} reload=${reload} /></td>
            </tr>`;
          })}
        </tbody></table></div>
      ${data && !data.users.length && html`<p class="faint table-note">Nobody has executions that wait or run.</p>`}
    <//>`;
}

const isOther = ({ gate }) => gate !== "*" && gate !== "user:*" && !gate.startsWith("action:") && !gate.startsWith("user:");

const isWeighed = ({ gate }) => !gate.startsWith("lane:") && !gate.endsWith("*");

function Others({ loads, mayChange, reload }) {
  const rows = [...loads.values()].filter(isOther);
  const [gate, setGate] = useState("");
  const [limit, setLimit] = useState("");
  const [rate, setRate] = useState("");
  async function set(event) {
    event.preventDefault();
    const isLimited = !limit || await attempt(`Limit of ${gate} is ${limit}`, () => send("PUT", `/limits/${part(gate)}`, { limit: Number(limit) }));
    const isRated = isLimited && (!rate || await attempt(`Rate of ${gate} is ${rate}`, () => send("PUT", `/rates/${part(gate)}`, { rate })));
    if (isRated) for (const empty of [setGate, setLimit, setRate]) empty("");
    reload();
  }
  return html`
    <${Card} title="Other gates" note="whatever senders name, such as tenant:acme">
      <form class="form" onSubmit=${set}>
        <label>Gate, or kind of gates<input required maxlength="300" placeholder="tenant:acme or tenant:*" value=${gate}
          onInput=${(event) => setGate(event.target.value)} /></label>
        <label>Limit<input required=${!rate} type="number" min="0" step="1" value=${limit} onInput=${(event) => setLimit(event.target.value)} /></label>
        <label>Rate<input required=${!limit} pattern=${RATE_PATTERN} title=${RATE_LIKE} placeholder="100/m" size="10" value=${rate}
          onInput=${(event) => setRate(event.target.value)} /></label>
        <button class="main">Set them</button>
      </form>
      ${rows.length > 0 && html`<div class="scroll table-note flush" tabindex="0" role="region" aria-label="Other gates"><table class="rows">
        <thead><tr><th scope="col">Gate</th><th scope="col" class="number">Held</th><th scope="col" class="number">Waiting</th>
          <th scope="col" class="number">Limit</th><th scope="col">Rate</th><th scope="col" class="number">Weight</th><th scope="col">Pause</th></tr></thead>
        <tbody>${rows.map((each) => html`<tr key=${each.gate} data-row=${each.gate}>
          <td class="text" data-label="Gate">${each.gate}</td>
          <td class="number" data-label="Held">${count(each.held)}</td>
          <td class="number" data-label="Waiting">${count(each.waiting)}</td>
          <td class="number" data-label="Limit">${each.gate.startsWith("lane:") ? "–"
            : html`<${LimitCell} gate=${each.gate} load=${each} mayChange=${mayChange} reload=${reload} />`}</td>
          <td class="text" data-label="Rate">${each.gate.startsWith("lane:") ? "–"
            : html`<${RateCell} gate=${each.gate} load=${each} mayChange=${mayChange} reload=${reload} />`}</td>
          <td class="number" data-label="Weight">${isWeighed(each) ? html`<${WeightCell} gate=${each.gate} load=${each} mayChange=${mayChange} reload=${reload} />` : "–"}</td>
          <td data-label="Pause">${!each.gate.endsWith("*") && html`<${PauseButton} name=${each.gate} isPaused=${each.paused} mayChange=${mayChange} reload=${reload} />`}</td>
        </tr>`)}</tbody></table></div>`}
    <//>`;
}
