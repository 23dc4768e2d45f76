// Changes many at once: first a dry run, which counts them and shows the first; then those, and no others.
import { send } from "../api/calls.js";
import { html, useEffect, useState } from "../lib.js";
import { BANDS, band, count, plural } from "../words.js";
import { Ask, Dialog } from "./dialog.js";
import { Trouble, attempt } from "./trouble.js";

const WORDS = {
  retry: ["Run dead letters again", "Run them again", "runs again under a new id, and its letter is dropped"],
  drop: ["Drop dead letters", "Drop them", "is forgotten with what it would run; its history stays"],
  cancel: ["Cancel executions", "Cancel them", "is cancelled; one that runs is asked to end"],
  move: ["Move executions", "Move them", "is moved, and keeps the time at which it was accepted"],
};

// `wanted`: { status, user, of_action, of_priority, of_lane } as the API has them.
export function Bulk({ action, wanted, caller, onClose }) {
  const [priority, setPriority] = useState(action === "move" ? "" : null);
  const [plan, setPlan] = useState(null);
  const [problem, setProblem] = useState(null);
  const [title, button, becomes] = WORDS[action];
  useEffect(() => {
    if (priority === "") return undefined;
    const asked = { action, ...wanted, ...(priority ? { priority } : {}) };
    let isEnded = false;
    setPlan(null);
    setProblem(null);
    send("POST", "/executions/bulk/plan", asked).then((found) => isEnded || setPlan(found), (found) => isEnded || setProblem(found));
    return () => {
      isEnded = true;
    };
  }, [priority]);

  const act = () => attempt(title, async () => {
    const done = await send("POST", "/executions/bulk", { ticket: plan.ticket });
    const rest = [
      done.skipped ? `${count(done.skipped)} were no longer what was asked for` : "",
      done.failed.length ? `${count(done.failed.length)} could not be changed: ${done.failed[0].detail}` : "",
    ].filter(Boolean);
    return [`${plural(done.changed, "execution")} changed`, ...rest].join("; ");
  });
  const ofPriority = action === "move" && html`
    <label>To priority <select value=${priority} onChange=${(event) => setPriority(event.target.value)}>
      <option value="">choose…</option>
      ${(caller.may("admin") ? BANDS : BANDS.slice(BANDS.indexOf(caller.maxBand))).map((each) => html`<option value=${each}>${band(each)}</option>`)}
    </select></label>`;
  if (!plan || !plan.count) {
    return html`<${Dialog} title=${title} onClose=${onClose}>
      <form onSubmit=${(event) => event.preventDefault()}>
        ${ofPriority}<${Trouble} problem=${problem} />
        ${plan ? html`<p>${plan.more ? "None of those that were looked at is like this; there are more behind them." : "None is like this: nothing would be changed."}</p>` : priority !== "" && !problem && html`<p class="faint">Counting…</p>`}
        <footer><button type="button" onClick=${onClose}>Close</button></footer>
      </form>
    <//>`;
  }
  return html`
    <${Ask} title=${title} button=${button} kind=${action === "drop" || action === "cancel" ? "danger" : ""} act=${act} onClose=${onClose}>
      ${ofPriority}
      <p>A dry run found <b>${plural(plan.count, "execution")}</b>${plan.more ? ", as many as can be changed or looked at at once; there may be more" : ""}.
        Each ${becomes}. What comes meanwhile is not touched.</p>
      <ul class="ids mono">${plan.execution_ids.map((each) => html`<li>${each}</li>`)}
        ${plan.count > plan.execution_ids.length && html`<li>and ${count(plan.count - plan.execution_ids.length)} more</li>`}</ul>
      <p class="faint">This holds for ${Math.round(plan.expires_seconds / 60)} minutes.</p>
    <//>`;
}
