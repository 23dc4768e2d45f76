// The view for who is not signed in.
import { V1 } from "../api/calls.js";
import { signIn, signedOutBecause } from "../api/session.js";
import { html, useState } from "../lib.js";
import { useSignal } from "../signal.js";
import { Trouble } from "../parts/trouble.js";

const hasProvider = document.querySelector('meta[name="provider"]').content === "yes";

export function SigningIn({ problem: first }) {
  const because = useSignal(signedOutBecause);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(first);
  const [isBusy, setBusy] = useState(false);

  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn({ token: token.trim() });
    } catch (found) {
      setProblem(found);
      setBusy(false);
    }
  }

  return html`
    <main class="signing-in">
      <form onSubmit=${submit}>
        <h1><${Mark} /> Bandmaster</h1>
        ${because && !problem && html`<p class="notice">You were signed out: the session or its token has ended.</p>`}
        <label>Token
          <input type="password" name="token" autocomplete="current-password" required autofocus spellcheck="false"
            placeholder="bm_…" value=${token} onInput=${(event) => setToken(event.target.value)} />
        </label>
        <${Trouble} problem=${problem} />
        <button class="main" disabled=${isBusy || !token}>Sign in</button>
        <p class="faint">On this machine, the token is in <code>var/api-token</code>. Others make one with
          <code>bandmaster token create</code>. It is kept by nobody: the browser gets a cookie.</p>
        ${hasProvider && html`<p>Or <a href="${V1}/session/oidc">sign in with OpenID Connect</a>.</p>`}
      </form>
    </main>
  `;
}

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
    <rect width="32" height="32" rx="7"/><g><rect x="6" y="7" width="20" height="4" rx="2"/>
    <rect x="6" y="14" width="14" height="4" rx="2"/><rect x="6" y="21" width="8" height="4" rx="2"/></g></svg>`;
}
