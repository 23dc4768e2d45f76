// Begins: takes a one-time code out of the address, finds out who is signed in, and shows the view of the address.
import { resume, session, signIn } from "./api/session.js";
import { startKeys } from "./keys.js";
import { html, render, useEffect, useState } from "./lib.js";
import { follow } from "./live/feed.js";
import { startSampling } from "./live/samples.js";
import { route, startRouting, takeCode } from "./route.js";
import { useSignal } from "./signal.js";
import { startTheme } from "./theme.js";
import { startClock } from "./times.js";
import { Said, Trouble } from "./parts/trouble.js";
import { Frame } from "./views/frame.js";
import { Help } from "./views/help.js";
import { SigningIn } from "./views/signing-in.js";
import { viewOf } from "./views/all.js";

const AGAIN_MS = 2000;
const code = takeCode();
startTheme();
startRouting();
startClock();

function Page() {
  const caller = useSignal(session);
  const at = useSignal(route);
  const [problem, setProblem] = useState(null);
  const [helps, setHelps] = useState(false);

  useEffect(() => {
    begin(setProblem);
    startKeys(() => setHelps(true));
  }, []);
  useEffect(() => {
    if (caller === undefined) return undefined;
    follow(caller !== null);
    return caller ? startSampling(caller) : undefined;
  }, [caller]);

  if (caller === undefined) return problem && html`<main class="signing-in"><${Trouble} problem=${problem} /></main>`;
  if (!caller) return html`<${SigningIn} problem=${problem} />`;
  const [View, given] = viewOf(at);
  return html`
    <${Frame} onHelp=${() => setHelps(true)}>
      <${View} key=${at.parts.join("/")} ...${given} caller=${caller} query=${at.query} />
    <//>
    <${Said} />
    ${helps && html`<${Help} onClose=${() => setHelps(false)} />`}
  `;
}

async function begin(setProblem) {
  while (session.get() === undefined) {
    try {
      await (code === null ? resume() : signIn({ code }));
      setProblem(null);
    } catch (problem) {
      setProblem(problem);
      if (code !== null && (problem.status === 401 || problem.status === 422)) {
        // The link was used before, or is none: who is signed in already stays so.
        await resume().catch(() => session.set(null));
      } else {
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
  }
}

render(html`<${Page} />`, document.getElementById("page"));
