import { useSyncExternalStore } from "react";
import { readStored, store } from "./stored";

export type Density = "compact" | "roomy";
export const densities: Density[] = ["compact", "roomy"];

const key = "writ.density";
const watchers = new Set<() => void>();
let chosen: Density = readStored(key) === "roomy" ? "roomy" : "compact";

/** applyDensity sets how high the rows of tables are; it is called before the first render. */
export function applyDensity(): void {
  document.documentElement.dataset.density = chosen;
  for (const watcher of watchers) watcher();
}

export function setDensity(density: Density): void {
  chosen = density;
  store(key, density);
  applyDensity();
}

export const useDensity = () =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => chosen,
  );
