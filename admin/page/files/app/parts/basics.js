// The small things that every view is made of.
import { html } from "../lib.js";
import { useSignal } from "../signal.js";
import { absolute, relative, second } from "../times.js";
import { ITEM_STATUS_MEANS, STATE_MEANS, band } from "../words.js";

export function Time({ at, none = "–" }) {
  useSignal(second);
  if (!at) return html`<span class="faint">${none}</span>`;
  return html`<time datetime=${at} title=${absolute(at)}>${relative(at)}</time>`;
}

export function StateBadge({ execution }) {
  const { state, dead, lost, cancel_requested: isAsked } = execution;
  return html`
    <span class="badge state-${state}" title=${`${state}: ${STATE_MEANS[state] ?? "a state that this page does not know"}`}>
      ${state.toLowerCase()}
    </span>
    ${dead && html` <span class="badge state-dead" title="It used up its tries, and is kept to be tried again">dead letter</span>`}
    ${lost && html` <span class="badge state-dead" title="Redis does not know it any more, and no end of it was read">lost</span>`}
    ${isAsked && state !== "CANCELLING" && html` <span class="badge" title="It was asked to end">ending</span>`}
  `;
}

export function ItemBadge({ item: { status, failure } }) {
  return html`
    <span class="badge item-${status}" title=${`${status}: ${ITEM_STATUS_MEANS[status] ?? "a status that this page does not know"}`}>
      ${status.toLowerCase().replaceAll("_", " ")}
    </span>
    ${failure && html` <small class="faint">${failure}</small>`}
  `;
}

export function Band({ name }) {
  return html`<span class="band band-${name}"><i aria-hidden="true"></i>${band(name)}</span>`;
}

// A number with its unit, and how it is computed.
export function Figure({ label, value, unit, how, of, kind = "" }) {
  return html`
    <div class="figure ${kind}" title=${how}>
      <dt>${label}</dt>
      <dd><b>${value}</b>${unit && html` <small>${unit}</small>`}${of && html` <small>${of}</small>`}</dd>
    </div>
  `;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

export function Code({ children }) {
  // A region that scrolls has to be reached by the keyboard.
  return html`<pre class="code" tabindex="0"><code>${children}</code></pre>`;
}

export function Card({ title, note, action, children, kind = "" }) {
  return html`
    <section class="card ${kind}">
      ${title && html`<header><h2>${title}</h2>${note && html`<p class="faint">${note}</p>`}${action}</header>`}
      ${children}
    </section>
  `;
}

export function Meter({ held, limit, label }) {
  if (limit === null) return html`<span class="faint">no limit</span>`;
  const share = limit ? Math.min(1, held / limit) : 1;
  return html`
    <span class="meter ${share >= 1 ? "full" : ""}" title=${label}>
      <i aria-hidden="true" style=${{ width: `${Math.round(share * 100)}%` }}></i>
    </span>
  `;
}
