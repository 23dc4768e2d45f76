// Who is signed in, and what they may do. The token itself is kept by nobody; the cookie no program can read.
import { signal } from "../signal.js";
import { call, onSignedOut, useCsrfToken } from "./calls.js";

const INCLUDED = { read: [], submit: ["read"], operate: ["read"], admin: ["read", "submit", "operate"] };

// undefined: not known yet; null: nobody.
export const session = signal(undefined);
export const signedOutBecause = signal(null);

export class Caller {
  constructor(document) {
    this.owner = document.owner;
    this.tokenId = document.token_id;
    this.maxBand = document.max_band;
    this.endsAt = document.ends_at;
    this.scopes = new Set(document.scopes.flatMap((scope) => [scope, ...(INCLUDED[scope] ?? [])]));
  }

  may(scope) {
    return this.scopes.has(scope);
  }

  mayChange(execution) {
    return this.may("operate") || (this.may("submit") && execution.user_id === this.owner);
  }

  mayRead(execution) {
    return this.may("admin") || execution.user_id === this.owner;
  }
}

onSignedOut((problem) => {
  if (session.get()) signedOutBecause.set(problem);
  session.set(null);
});

function begin(document) {
  useCsrfToken(document.csrf_token);
  signedOutBecause.set(null);
  session.set(new Caller(document));
}

export async function resume() {
  try {
    begin((await call("GET", "/session", { isSigningIn: true })).document);
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    session.set(null);
  }
}

export async function signIn(by) {
  begin((await call("POST", "/session", { body: by, isSigningIn: true })).document);
}

export async function signOut() {
  await call("DELETE", "/session");
  useCsrfToken("");
  session.set(null);
}
