// The servers of an installation that has more than one: what waits and runs on each, and in words which one is away.
import { html } from "../lib.js";
import { useResource } from "../live/resource.js";
import { duration } from "../times.js";
import { band, count } from "../words.js";
import { Card } from "../parts/basics.js";
import { Trouble } from "../parts/trouble.js";

// The API's own server being away says so by itself elsewhere; what other servers do brings no news here.
const never = () => false;
const isAlone = (data) => data.shards.length < 2;

export function Servers() {
  const { data, problem } = useResource("/shards", { concerns: never, isLast: isAlone });
  if (!data || isAlone(data)) return null;
  return html`
    <${Card} title="Servers" note="all of this installation; the rest of this page is about the one that this API works on">
      <${Trouble} problem=${problem} />
      <div class="scroll" tabindex="0" role="region" aria-label="Servers"><table>
        <thead><tr><th scope="col">Server</th><th scope="col" title="What is sent to it">Has</th>
          <th scope="col" class="number" title="Executions that are due and wait, in all its lanes">Waiting</th>
          <th scope="col" class="number" title="Executions that hold a slot">Running</th>
          <th scope="col" class="number" title="How long the one waits that waits longest">Oldest wait</th>
          <th scope="col" class="number" title="Worker processes that live">Workers</th>
          <th scope="col">State</th></tr></thead>
        <tbody>${data.shards.map((each) => html`<${Server} key=${each.shard} server=${each} />`)}</tbody></table></div>
    <//>`;
}

function Server({ server }) {
  const { figures } = server;
  return html`
    <tr><td class="text" title=${server.url}>${server.shard}${server.is_own && html` <small class="faint">this one</small>`}</td>
      <td class="text">${has(server)}</td>
      <td class="number">${figures ? count(figures.queue_depth) : "–"}</td>
      <td class="number">${figures ? count(figures.active_count) : "–"}</td>
      <td class="number">${figures ? duration(figures.oldest_wait_seconds * 1000) : "–"}</td>
      <td class="number">${figures ? count(figures.workers) : "–"}</td>
      <td class="text">${state(server)}</td></tr>`;
}

function has({ shard, bands, lanes }) {
  const parts = [...lanes.map((each) => `lane ${each}`), ...bands.map(band)];
  return shard === "default" ? `${parts.join(", ")}, and lanes that no other has` : parts.join(", ");
}

function state({ is_away: isAway, away_because: why, figures }) {
  if (isAway) return html`<span class="badge state-dead">away</span> ${why}; what waits there waits, and the others go on`;
  if (!figures.leader) return "answers; no scheduler leads it";
  return figures.paused.length ? `answers; ${count(figures.paused.length)} paused` : "answers";
}
