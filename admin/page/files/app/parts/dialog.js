// A question before something is changed. The element gives focus, Escape and the rest.
import { html, useEffect, useRef, useState } from "../lib.js";

export function Dialog({ title, onClose, children, kind = "" }) {
  const element = useRef(null);
  useEffect(() => {
    const opened = element.current;
    opened.showModal();
    return () => opened.close();
  }, []);
  return html`
    <dialog ref=${element} class=${kind} aria-label=${title} onCancel=${(event) => { event.preventDefault(); onClose(); }}
      onClick=${(event) => event.target === element.current && onClose()}>
      <div class="dialog">
        <header><h2>${title}</h2><button class="plain" aria-label="Close" onClick=${onClose}>✕</button></header>
        ${children}
      </div>
    </dialog>
  `;
}

// `act` returns whether it was done.
export function Ask({ title, button, kind = "", act, onClose, children }) {
  const [isBusy, setBusy] = useState(false);
  async function confirm(event) {
    event.preventDefault();
    setBusy(true);
    if (await act()) onClose();
    else setBusy(false);
  }
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form onSubmit=${confirm}>
        ${children}
        <footer>
          <button type="button" onClick=${onClose}>Not now</button>
          <button class="main ${kind}" disabled=${isBusy}>${button}</button>
        </footer>
      </form>
    <//>
  `;
}
