// The frame around every view: where one can go, who is signed in, whether what is shown is live.
import { session, signOut } from "../api/session.js";
import { html, useEffect, useState } from "../lib.js";
import { feedState } from "../live/feed.js";
import { href, route } from "../route.js";
import { useSignal } from "../signal.js";
import { nextTheme, theme } from "../theme.js";
import { attempt } from "../parts/trouble.js";
import { Mark } from "./signing-in.js";

// Path, name, and the scope that it needs.
export const PLACES = [
  ["now", "Now", "read"],
  ["executions", "Executions", "read"],
  ["actions", "Actions and users", "read"],
  ["dead", "Dead letters", "read"],
  ["schedules", "Schedules", "operate"],
  ["queues", "Queues and triggers", "operate"],
  ["settings", "Settings", "operate"],
  ["audit", "Audit", "admin"],
  ["tokens", "Tokens", "admin"],
];

// Views that are reached from another one.
const WITHIN = { triggers: "queues" };

const LIVE = {
  live: ["Live", "Follows what happens: what is shown is at most a second old"],
  away: ["Connecting", "The stream of events is not connected; the page asks every few seconds, and tries again"],
  refused: ["Signed out", "The stream of events was refused"],
};

export function Frame({ children, onHelp }) {
  const caller = useSignal(session);
  const [first, of] = useSignal(route).parts;
  const here = WITHIN[first] ?? first;
  const state = useSignal(feedState);
  const chosen = useSignal(theme);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const place = PLACES.find(([path]) => path === here) ?? PLACES[0];
    document.title = `${of ?? place[1]} – Bandmaster`;
  }, [here, of]);
  return html`
    <a class="skip" href="#content" onClick=${skip}>To the content</a>
    <div class="frame">
      <header class="side">
        <a class="brand" href=${href(["now"])}><${Mark} /> Bandmaster</a>
        <button class="plain menu" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Menu</button>
        <nav class=${isOpen ? "open" : ""} aria-label="Views" onClick=${() => setOpen(false)}>
          ${PLACES.filter(([, , scope]) => caller.may(scope)).map(([path, name]) => html`
            <a key=${path} href=${href([path])} aria-current=${here === path ? "page" : null}>${name}</a>`)}
        </nav>
        <div class="who ${isOpen ? "open" : ""}">
          <span class="live ${state}" title=${LIVE[state][1]}><i aria-hidden="true"></i>${LIVE[state][0]}</span>
          <span class="owner" title="Signed in with the token ${caller.tokenId}; scopes: ${[...caller.scopes].join(", ")}">
            ${caller.owner}</span>
          <div class="tools">
            <button class="plain" onClick=${nextTheme} title="Light, dark, or as the system has it">Theme: ${chosen}</button>
            <button class="plain" onClick=${onHelp} title="Keyboard: ?">Keys</button>
            <button class="plain" onClick=${() => attempt("Signed out", signOut)}>Sign out</button>
          </div>
        </div>
      </header>
      <main id="content" tabindex="-1">${children}</main>
    </div>
  `;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("content").focus();
}
