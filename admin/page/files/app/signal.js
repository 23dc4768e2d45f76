// A value that several parts of the page show, and that tells them when it changes.
import { useEffect, useState } from "./lib.js";

export function signal(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const each of [...watchers]) each(value);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export function useSignal(of) {
  const [value, setValue] = useState(of.get());
  useEffect(() => {
    setValue(of.get());
    return of.watch(setValue);
  }, [of]);
  return value;
}
