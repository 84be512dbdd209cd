import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export const themes: Theme[] = ["system", "light", "dark"];

const key = "writ.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();
let chosen: Theme = read();

function read(): Theme {
  try {
    return themes.find((t) => t === localStorage.getItem(key)) ?? "system";
  } catch {
    return "system";
  }
}

/** applyTheme shows the chosen theme; it is called before the first render. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
  for (const watcher of watchers) watcher();
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(key, theme);
  } catch {
    // It holds for this page.
  }
  applyTheme();
}

dark.addEventListener("change", applyTheme);
addEventListener("storage", (event) => {
  if (event.key !== key) return;
  chosen = read();
  applyTheme();
});

const watch = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

export const useTheme = () => useSyncExternalStore(watch, () => chosen);
/** useShownTheme is light or dark, also where the system decides. */
export const useShownTheme = () => useSyncExternalStore(watch, () => document.documentElement.dataset.theme ?? "light");
