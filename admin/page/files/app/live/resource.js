// Something of the API that a view shows: loaded, and loaded again when something happened, but at most twice a second,
// less often while answers are slow, and not while nobody looks.
import { get } from "../api/calls.js";
import { useEffect, useRef, useState } from "../lib.js";
import { onNews } from "./feed.js";

const LEAST_MS = 500;
const TIMES_SLOWER = 4;

// `path`: null loads nothing. `concerns`: whether what happened changes it. `everyMs`: also after so long without news. `isLast`: whether
// what was loaded will not change any more; then it is not loaded again.
export function useResource(path, { concerns = () => true, everyMs = 5000, isLast = () => false } = {}) {
  const [state, setState] = useState({ path: null, data: null, problem: null, isLoading: true });
  const reload = useRef(() => {});
  const heeded = useRef(concerns);
  heeded.current = concerns;
  const last = useRef(isLast);
  last.current = isLast;

  useEffect(() => {
    if (path === null) return undefined;
    const ended = new AbortController();
    let timer = null, isLoading = false, isStale = false, isOver = false, lastMs = 0, tookMs = 0, heldUntilMs = 0;

    async function load() {
      timer = clearTimeout(timer);
      isLoading = true;
      isStale = false;
      const began = performance.now();
      try {
        const data = await get(path, {}, { signal: ended.signal });
        setState({ path, data, problem: null, isLoading: false });
        isOver = last.current(data);
      } catch (problem) {
        if (ended.signal.aborted) return;
        setState((had) => ({ path, data: had.path === path ? had.data : null, problem, isLoading: false }));
        heldUntilMs = performance.now() + (problem.retrySeconds ?? 1) * 1000;
      }
      if (ended.signal.aborted) return;
      lastMs = performance.now();
      tookMs = lastMs - began;
      isLoading = false;
      if (isStale) soon();
      else later();
    }
    function later() {
      if (isOver) return;
      const pauseMs = Math.max(everyMs, heldUntilMs - performance.now());
      timer ??= setTimeout(() => (document.hidden ? later((timer = null)) : load()), pauseMs);
    }
    function soon() {
      isStale = true;
      if (isLoading || isOver || document.hidden) return;
      clearTimeout(timer);
      const nextMs = Math.max(lastMs + Math.max(LEAST_MS, TIMES_SLOWER * tookMs), heldUntilMs);
      timer = setTimeout(load, Math.max(0, nextMs - performance.now()));
    }
    function seen() {
      if (!document.hidden) soon();
    }
    reload.current = soon;
    const forget = onNews((news) => (news.reset || heeded.current(news)) && soon());
    document.addEventListener("visibilitychange", seen);
    load();
    return () => {
      ended.abort();
      clearTimeout(timer);
      forget();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path, everyMs]);

  const isOfPath = state.path === path;
  return {
    data: isOfPath ? state.data : null,
    // While another page of the same loads, the view keeps its height.
    former: state.data,
    problem: isOfPath ? state.problem : null,
    isLoading: !isOfPath || state.isLoading,
    reload: () => reload.current(),
  };
}
