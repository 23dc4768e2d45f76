// Calls of the API: by the browser's cookie, and for a change with the session's CSRF token.
import { setServerTime } from "../times.js";
import { Problem } from "./problem.js";

export const V1 = "/api/v1";
let csrfToken = "";
let whenSignedOut = () => {};

export function useCsrfToken(token) {
  csrfToken = token;
}

export function onSignedOut(act) {
  whenSignedOut = act;
}

export function withQuery(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") query.append(name, each);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

// Sends a file as it is. Only this kind of request tells how much of it was sent.
export function sendFile(path, file, { type, key, onSent }) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", V1 + path);
    for (const [name, value] of [["Content-Type", type], ["X-CSRF-Token", csrfToken], ["Idempotency-Key", key]]) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onerror = () => failed(Problem.unreachable());
    request.onload = async () => {
      const headers = { "Retry-After": request.getResponseHeader("Retry-After") ?? "" };
      const response = new Response(request.responseText, { status: request.status, headers });
      if (response.ok) return done(await response.json());
      const problem = await Problem.of(response);
      if (response.status === 401) whenSignedOut(problem);
      return failed(problem);
    };
    request.send(file);
  });
}

// What comes of others may be anything: as one part of a path.
export const part = encodeURIComponent;

export async function call(method, path, { body, headers = {}, signal, isSigningIn = false } = {}) {
  const given = { Accept: "application/json", ...headers };
  if (method !== "GET" && csrfToken) given["X-CSRF-Token"] = csrfToken;
  if (body !== undefined) given["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(V1 + path, {
      method, headers: given, signal, credentials: "same-origin", cache: "no-store", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw Problem.unreachable();
  }
  if (!response.ok) {
    const problem = await Problem.of(response);
    if (response.status === 401 && !isSigningIn) whenSignedOut(problem);
    throw problem;
  }
  const document = response.status === 204 ? null : await response.json();
  if (document?.as_of && document.source === "redis") setServerTime(document.as_of);
  return { document, headers: response.headers, status: response.status };
}

export async function get(path, parameters, more = {}) {
  return (await call("GET", withQuery(path, parameters), more)).document;
}

export async function send(method, path, body, headers) {
  return (await call(method, path, { body, headers })).document;
}
