// Follows what happens, for all tabs of the browser, and tells them in short: at most twice a second, whose state
// changed and what was counted. However much happens, what the tabs get is small.
import { eventsOf, pauseMs } from "./sse.js";

const TOLD_MS = 500;
const MOST_IDS = 200;
const MOST_WAITS = 500;

export class Follower {
  constructor(tell) {
    this.tell = tell;
    this.lastId = null;
    this.connection = null;
    this.telling = null;
    this.fresh();
  }

  fresh() {
    this.news = { ids: [], many: false, started: 0, ended: 0, waits: [], reset: false };
    this.hasNews = false;
  }

  start() {
    this.stop();
    this.connection = new AbortController();
    this.follow(this.connection.signal);
  }

  stop() {
    this.connection?.abort();
    // What was noted is not told any more: it would say that this still follows.
    clearTimeout(this.telling);
    this.fresh();
  }

  async follow(signal) {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const headers = this.lastId ? { "Last-Event-ID": this.lastId } : {};
        const response = await fetch("/api/v1/events", { headers, signal, cache: "no-store" });
        if (response.status === 401 || response.status === 403) {
          this.tell({ state: "refused" });
          return;
        }
        if (response.status === 422) this.lastId = null;
        if (!response.ok) throw new Error(`events: ${response.status}`);
        this.tell({ state: "live" });
        failures = 0;
        // What was missed while nobody followed may be anything.
        this.note({ name: "reset" });
        for await (const event of eventsOf(response)) {
          if (event) this.note(event);
        }
      } catch {
        if (signal.aborted) return;
      }
      this.tell({ state: "away" });
      failures += 1;
      await new Promise((done) => setTimeout(done, pauseMs(failures)));
    }
  }

  note(event) {
    if (event.id) this.lastId = event.id;
    const news = this.news;
    if (event.name === "reset") {
      news.reset = true;
      if (event.data) this.lastId = null;
    } else {
      this.count(event, JSON.parse(event.data));
    }
    if (this.hasNews) return;
    this.hasNews = true;
    this.telling = setTimeout(() => {
      const told = this.news;
      this.fresh();
      this.tell({ state: "live", news: told });
    }, TOLD_MS);
  }

  count(event, data) {
    const news = this.news;
    if (data.execution_id) {
      if (news.ids.length < MOST_IDS) news.ids.push(data.execution_id);
      else news.many = true;
    }
    if (event.name === "admit") {
      news.started += 1;
      if (data.waited_ms !== undefined && news.waits.length < MOST_WAITS) news.waits.push(Number(data.waited_ms));
    } else if (event.name === "release") {
      news.ended += 1;
    }
  }
}
