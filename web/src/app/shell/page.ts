// Where one is: the title of the tab and the breadcrumbs. A screen says it once.
import { useEffect, useSyncExternalStore } from "react";
import { clean } from "../../ui/clean";
import { words } from "../../words/en";
import { useCounts } from "./useCounts";

export interface Step {
  name: string;
  to?: string;
}

interface Place {
  trail: Step[];
}

let place: Place = { trail: [] };
const watchers = new Set<() => void>();

/** usePlace is what the current screen said. */
export const usePlace = () =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => place,
  );

/** usePage sets breadcrumbs and title: usePage({ name: "Traces", to: "/traces" }, { name: trace.name }). */
export function usePage(...steps: Step[]): void {
  const { inbox } = useCounts();
  const trail = steps.map((step) => ({ ...step, name: clean(step.name) }));
  const key = JSON.stringify(trail);
  useEffect(() => {
    place = { trail: JSON.parse(key) as Step[] };
    for (const watcher of watchers) watcher();
    document.title = words.shell.title(place.trail.map((step) => step.name).reverse(), inbox);
  }, [key, inbox]);
}
