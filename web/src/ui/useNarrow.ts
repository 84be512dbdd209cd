import { useSyncExternalStore } from "react";

const query = "(max-width: 639px)";

/** useNarrow reports whether the page is as narrow as a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const list = matchMedia(query);
      list.addEventListener("change", watcher);
      return () => list.removeEventListener("change", watcher);
    },
    () => matchMedia(query).matches,
  );
}
