// Schedules: what is run again and again; when next, what came of it, and buttons to run, pause and remove one.
import { part, send, withQuery } from "../api/calls.js";
import { html, useState } from "../lib.js";
import { useResource } from "../live/resource.js";
import { href, replace } from "../route.js";
import { count } from "../words.js";
import { Card, Code, Empty, Time } from "../parts/basics.js";
import { Ask } from "../parts/dialog.js";
import { Trouble, attempt, say } from "../parts/trouble.js";

const PAGE = 50;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const PROBLEMS = {
  ended: "It has no further times",
  not_readable: "What is kept of it cannot be read: remove it, or add it again",
  queue_full: "The lane is full: it is tried again",
  user_limit: "Its user has as many waiting as one may have: it is tried again",
};

export function Schedules({ caller, query }) {
  const cursor = query.get("cursor");
  const { data, problem, reload } = useResource(withQuery("/schedules", { limit: PAGE, cursor }));
  const [removes, setRemoves] = useState(null);
  const mayChange = caller.may("admin");
  return html`
    <h1>Schedules</h1>
    <${Trouble} problem=${problem} />
    ${mayChange && html`<${New} reload=${reload} />`}
    ${data && (data.schedules.length
      ? html`<${Table} schedules=${data.schedules} reload=${reload} onRemove=${mayChange ? setRemoves : null} />`
      : html`<${Empty} title="Nothing is run by the clock yet.">
          <p>A schedule runs a program or an actor at its times, each of them exactly once.</p>
          <${Code}>bandmaster schedule add nightly --cron "30 2 * * *" --tz ${ZONE} -- make report<//><//>`)}
    ${data && (cursor || data.next) && html`<p class="buttons">
      ${cursor && html`<button onClick=${() => replace(["schedules"], null)}>The first ones</button>`}
      ${data.next && html`<button onClick=${() => replace(["schedules"], { cursor: data.next })}>Further ones</button>`}</p>`}
    ${removes && html`<${Remove} schedule=${removes} reload=${reload} onClose=${() => setRemoves(null)} />`}
  `;
}

function New({ reload }) {
  const [name, setName] = useState("");
  const [cron, setCron] = useState("");
  const [tz, setTz] = useState(ZONE);
  const [command, setCommand] = useState("");
  const to = (set) => (event) => set(event.target.value);
  async function add(event) {
    event.preventDefault();
    const body = { cron, tz, command: ["sh", "-c", command] };
    try {
      await send("PUT", `/schedules/${part(name)}`, body, { "If-None-Match": "*" });
      say(`${name} is added`);
      for (const empty of [setName, setCron, setCommand]) empty("");
    } catch (problem) {
      say(`${name} was not added: `, problem);
    }
    reload();
  }
  return html`
    <${Card} title="A new schedule" note="of a program; actors are scheduled in code, over the API or by command">
      <form class="form" onSubmit=${add}>
        <label>Name<input name="name" required maxlength="80" placeholder="nightly" value=${name} onInput=${to(setName)} /></label>
        <label>Times<input name="cron" required maxlength="200" placeholder="30 2 * * *" title="Minute, hour, day of the month, month, day of the week"
          value=${cron} onInput=${to(setCron)} /></label>
        <label>Time zone<input name="tz" required maxlength="100" value=${tz} onInput=${to(setTz)} /></label>
        <label>Shell command<input name="command" required maxlength="4000" placeholder="make report" value=${command} onInput=${to(setCommand)} /></label>
        <button class="main">Add schedule</button>
      </form>
    <//>`;
}

function Table({ schedules, reload, onRemove }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Schedules"><table class="rows">
      <thead><tr><th scope="col">Schedule</th><th scope="col" title="Minute, hour, day of the month, month, day of the week">Times</th>
        <th scope="col">Runs</th><th scope="col" title="When the next occurrence is due, without jitter">Next</th>
        <th scope="col" title="The execution that is the latest occurrence">Last</th>
        <th scope="col" class="number" title="Occurrences that were left out: nobody could start them in time, or an earlier one lived">Left out</th>
        <th scope="col"><span class="hidden">Buttons</span></th></tr></thead>
      <tbody>${schedules.map((each) => html`
        <tr key=${each.name} data-row=${each.name}>
          <td class="text" data-label="Schedule">${each.name}${each.paused && html` <span class="badge state-dead">paused</span>`}
            ${each.declared && html` <small class="faint" title="An application declares it, and brings it back when a worker starts">declared</small>`}
            ${each.problem && html` <span class="badge state-dead" title=${PROBLEMS[each.problem] ?? ""}>${each.problem.replaceAll("_", " ")}</span>`}</td>
          <td class="text" data-label="Times"><code>${each.cron}</code> <small class="faint">${each.tz}</small></td>
          <td class="text" data-label="Runs" title=${runs(each)}>${shortened(runs(each))}</td>
          <td data-label="Next"><${Time} at=${each.next_at} none="never" /></td>
          <td data-label="Last">${each.last_run ? html`<a class="id" href=${href(["executions", each.last_run])}>${each.last_run}</a>` : "–"}</td>
          <td class="number" data-label="Left out">${count(each.skipped)}</td>
          <td><span class="buttons"><${Buttons} schedule=${each} reload=${reload} />
            ${onRemove && html`<button class="danger" aria-label="Remove ${each.name}" onClick=${() => onRemove(each)}>Remove…</button>`}</span></td>
        </tr>`)}</tbody></table></div>`;
}

const MOST_SHOWN = 60;
const shortened = (text) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

// What it runs in full is told to who may read it.
function runs({ actor, command, action, lane }) {
  if (actor) return `actor ${actor} of lane ${lane}`;
  return command ? command.join(" ") : `a program, as action ${action}`;
}

function Buttons({ schedule: { name, paused }, reload }) {
  const path = `/schedules/${part(name)}`;
  async function run() {
    const key = crypto.randomUUID?.() ?? String(Math.random());
    await attempt(`${name} runs now`, () => send("POST", `${path}/run`, undefined, { "Idempotency-Key": key }));
    reload();
  }
  async function turn() {
    const done = paused ? `${name} goes on` : `${name} is paused: what was started goes on`;
    await attempt(done, () => send(paused ? "DELETE" : "PUT", `${path}/pause`));
    reload();
  }
  return html`
    <button aria-label="Run now: ${name}" onClick=${run}>Run now</button>
    <button aria-label="${paused ? "Resume" : "Pause"} ${name}" onClick=${turn}>${paused ? "Resume" : "Pause"}</button>`;
}

function Remove({ schedule: { name, declared }, reload, onClose }) {
  const act = () => attempt(`${name} is removed`, async () => {
    await send("DELETE", `/schedules/${part(name)}`);
    reload();
  });
  return html`
    <${Ask} title="Remove the schedule ${name}?" button="Remove it" kind="danger" act=${act} onClose=${onClose}>
      <p>What was started of it goes on; nothing else is started.</p>
      ${declared && html`<p>An application declares it: it comes back when a worker of that application starts. Pause it instead, or take it out of the code.</p>`}
    <//>`;
}
