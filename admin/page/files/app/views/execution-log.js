// What an execution prints, as it comes, through its retries, with the colours of terminals.
import { V1 } from "../api/calls.js";
import { Problem } from "../api/problem.js";
import { Ansi } from "../ansi.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";
import { eventsOf, pauseMs } from "../live/sse.js";
import { Card } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

const TAIL_BYTES = 262_144;
const MOST_CHARS = 1_000_000;
const SHOWN_MS = 100;

export function Log({ path }) {
  const box = useRef(null);
  const [state, setState] = useState({ phase: "connecting", problem: null, isWithheld: false });
  const [isEmpty, setEmpty] = useState(true);
  const follows = useRef(true);

  useEffect(() => {
    const ended = new AbortController();
    const screen = new Screen(box.current, () => setEmpty(false), follows);
    followLog(path, screen, setState, ended.signal);
    return () => {
      ended.abort();
      screen.close();
    };
  }, [path]);
  useLayoutEffect(() => {
    const { current } = box;
    const scrolled = () => {
      follows.current = current.scrollHeight - current.scrollTop - current.clientHeight < 24;
    };
    current.addEventListener("scroll", scrolled, { passive: true });
    return () => current.removeEventListener("scroll", scrolled);
  }, []);

  return html`
    <${Card} title="Output" note=${NOTES[state.phase]}>
      <${Trouble} problem=${state.problem} />
      ${state.isWithheld && html`<p class="notice">The API may not read what pods print: the end of it appears when the execution has ended.</p>`}
      ${isEmpty && html`<p class="faint">${state.phase === "ended" ? "It printed nothing." : "Nothing yet."}</p>`}
      <pre class="log ${isEmpty ? "blank" : ""}" ref=${box} tabindex="0" role="log" aria-label="Output"></pre>
    <//>
  `;
}

const NOTES = { connecting: "connecting…", live: "followed live", ended: "all of it, or its end", away: "connecting again…" };

// Appends text; what is there is not drawn again.
class Screen {
  constructor(box, onFirst, follows) {
    Object.assign(this, { box, onFirst, follows, ansi: new Ansi(), waiting: [], chars: 0, timer: null });
    box.replaceChildren();
  }

  write(text) {
    this.waiting.push(...this.ansi.feed(text));
    this.timer ??= setTimeout(() => this.show(), SHOWN_MS);
  }

  mark(text) {
    this.waiting.push(["log-mark", `${text}\n`]);
    this.timer ??= setTimeout(() => this.show(), SHOWN_MS);
  }

  clear() {
    this.waiting = [];
    this.chars = 0;
    this.ansi = new Ansi();
    this.box.replaceChildren();
  }

  show() {
    this.timer = null;
    if (this.waiting.length) this.onFirst();
    for (const [classes, text] of this.waiting) {
      const piece = document.createElement("span");
      piece.className = classes;
      piece.textContent = text;
      this.box.append(piece);
      this.chars += text.length;
    }
    this.waiting = [];
    while (this.chars > MOST_CHARS && this.box.firstChild !== this.box.lastChild) {
      this.chars -= this.box.firstChild.textContent.length;
      this.box.firstChild.remove();
    }
    if (this.follows.current) this.box.scrollTop = this.box.scrollHeight;
  }

  close() {
    clearTimeout(this.timer);
  }
}

async function followLog(path, screen, setState, signal) {
  let lastId = null, failures = 0;
  const told = { attempt: 0, isWithheld: false };
  while (!signal.aborted) {
    try {
      const headers = lastId ? { "Last-Event-ID": lastId } : {};
      const response = await fetch(`${V1}${path}/logs/follow?tail_bytes=${TAIL_BYTES}`, { headers, signal, cache: "no-store" });
      if (!response.ok) throw await Problem.of(response);
      failures = 0;
      setState({ phase: "live", problem: null, isWithheld: told.isWithheld });
      for await (const event of eventsOf(response)) {
        if (!event) continue;
        if (event.id) lastId = event.id;
        if (heed(event, screen, told)) {
          setState({ phase: "ended", problem: null, isWithheld: false });
          return;
        }
        if (event.name === "withheld") setState({ phase: "live", problem: null, isWithheld: true });
      }
    } catch (error) {
      if (signal.aborted) return;
      const isFinal = error instanceof Problem && error.status < 500 && error.status !== 429;
      setState({ phase: "away", problem: error instanceof Problem ? error : null, isWithheld: told.isWithheld });
      if (isFinal) return;
    }
    failures += 1;
    await new Promise((done) => setTimeout(done, pauseMs(failures)));
  }
}

// Returns whether this was the end.
function heed(event, screen, told) {
  const data = JSON.parse(event.data || "{}");
  if (event.name === "output") screen.write(data.text);
  else if (event.name === "reset") screen.clear();
  else if (event.name === "withheld") told.isWithheld = true;
  else if (event.name === "attempt") {
    if (told.attempt && data.attempt !== told.attempt) screen.mark(`– attempt ${data.attempt} –`);
    told.attempt = data.attempt;
  }
  return event.name === "end";
}
