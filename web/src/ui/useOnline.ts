import { useSyncExternalStore } from "react";

const watch = (watcher: () => void) => {
  addEventListener("online", watcher);
  addEventListener("offline", watcher);
  return () => {
    removeEventListener("online", watcher);
    removeEventListener("offline", watcher);
  };
};

/** useOnline reports whether the browser has a network. */
export const useOnline = (): boolean => useSyncExternalStore(watch, () => navigator.onLine);
