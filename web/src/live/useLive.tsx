import {
  createContext,
  type ReactNode,
  use,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { Live, type LiveEvent } from "./live";
import type { StreamState } from "./sse";

interface Held {
  live: Live;
  paused: boolean;
  setPaused: (paused: boolean) => void;
}

const Context = createContext<Held | undefined>(undefined);

/** LiveProvider holds the streams of an organization while it is shown. */
export function LiveProvider({ org, children }: { org: string; children: ReactNode }) {
  const [live, setLive] = useState<Live>();
  const [paused, setPaused] = useState(false);
  useEffect(() => {
    const opened = new Live(org);
    setLive(opened);
    return () => opened.close();
  }, [org]);
  return <Context value={live && { live, paused, setPaused }}>{children}</Context>;
}

const connecting: StreamState = { is: "connecting" };

/** useLiveState is whether events arrive, and a way to pause them. */
export function useLiveState() {
  const held = use(Context);
  const live = held?.live;
  const state = useSyncExternalStore(
    useCallback((watcher) => live?.watch(watcher) ?? (() => {}), [live]),
    () => live?.getState() ?? connecting,
  );
  return { state, paused: held?.paused ?? false, setPaused: held?.setPaused ?? (() => {}) };
}

/** useLive calls back with new events, at most four times a second, also while paused. */
export function useLive(onEvents: (events: LiveEvent[]) => void): void {
  const live = use(Context)?.live;
  const latest = useRef(onEvents);
  useEffect(() => {
    latest.current = onEvents;
  });
  useEffect(() => {
    return live?.read((events) => latest.current(events));
  }, [live]);
}

/**
 * useNew counts what arrived and waits behind a pill; show() takes it in. Lists never move by themselves, and while
 * paused the pill does not grow either: what came meanwhile is counted when the pause ends.
 */
export function useNew(wanted: (event: LiveEvent) => boolean, show: () => void) {
  const [arrived, setArrived] = useState(0);
  const [shown, setShown] = useState(0);
  const paused = use(Context)?.paused ?? false;
  useLive((events) => {
    const n = events.filter(wanted).length;
    if (n > 0) setArrived((before) => before + n);
  });
  useEffect(() => {
    if (!paused) setShown(arrived);
  }, [paused, arrived]);
  return {
    waiting: shown,
    show: () => {
      setArrived(0);
      setShown(0);
      show();
    },
  };
}
