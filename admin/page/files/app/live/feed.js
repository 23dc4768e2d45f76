// What happens, as this tab is told: by the worker that all tabs share, or where there is none by a follower of its own.
import { signal } from "../signal.js";
import { Follower } from "./follower.js";

// "live", "away" or "refused".
export const feedState = signal("away");
const listeners = new Set();
let channel = null;

export function onNews(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function heard({ state, news }) {
  feedState.set(state);
  if (news) for (const each of [...listeners]) each(news);
}

function shared() {
  const url = new URL("./worker.js", import.meta.url).href;
  const policy = self.trustedTypes?.createPolicy("bandmaster", { createScriptURL: (text) => text });
  const worker = new SharedWorker(policy ? policy.createScriptURL(url) : url, { type: "module", name: "bandmaster" });
  worker.port.onmessage = ({ data }) => heard(data);
  addEventListener("pagehide", () => worker.port.postMessage("bye"));
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  return (text) => worker.port.postMessage(text);
}

function own() {
  const follower = new Follower(heard);
  return (text) => (text === "signed in" ? follower.start() : follower.stop());
}

export function follow(isSignedIn) {
  channel ??= "SharedWorker" in self ? shared() : own();
  channel(isSignedIn ? "signed in" : "signed out");
}
