// Light or dark: as the system has it, or as the user chose.
import { signal } from "./signal.js";

const NAME = "bandmaster-theme";
const ALL = ["system", "light", "dark"];

export const theme = signal("system");

function show(chosen) {
  theme.set(chosen);
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function startTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem(NAME);
  } catch {
    // A browser that keeps nothing shows the system's.
  }
  show(ALL.includes(kept) ? kept : "system");
}

export function nextTheme() {
  const next = ALL[(ALL.indexOf(theme.get()) + 1) % ALL.length];
  show(next);
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // It holds until the page is closed.
  }
}
