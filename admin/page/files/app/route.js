// Where the page is: a path and its parameters, in the fragment of the address, so that a link leads to the same view.
import { signal } from "./signal.js";

function read() {
  const text = location.hash.startsWith("#/") ? location.hash.slice(1) : "/now";
  const [path, query = ""] = text.split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal({ parts: ["now"], query: new URLSearchParams() });

export function startRouting() {
  route.set(read());
  addEventListener("hashchange", () => route.set(read()));
}

export function href(parts, query) {
  const path = parts.map(encodeURIComponent).join("/");
  const text = query ? new URLSearchParams(query).toString() : "";
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function go(parts, query) {
  location.hash = href(parts, query);
}

// A filter that is typed is no step that "back" should undo one by one.
export function replace(parts, query) {
  history.replaceState(null, "", href(parts, query));
  route.set(read());
}

// A one-time code for signing in: gone from the address and the history before anything else happens.
export function takeCode() {
  const found = /^#code=(.+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname);
  return decoded(found[1]);
}
