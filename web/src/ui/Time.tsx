import { useSyncExternalStore } from "react";
import { absolute, ago, clock } from "./format";

// One clock for the page: every relative time moves together.
let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void) {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const w of watchers) w();
  }, 5000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** useNow is the time, renewed every five seconds. */
export const useNow = () => useSyncExternalStore(watch, () => now);

interface TimeProps {
  at: string | number;
  /** Relative: ago, of what happened, and ends, of what ends then. */
  form?: "ago" | "ends" | "absolute" | "clock";
}

/** Time is relative in lists, with the absolute time in its title. Only a relative one follows the clock. */
export function Time({ at, form = "ago" }: TimeProps) {
  const time = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(time)) return <span>–</span>;
  if (form === "ago" || form === "ends") return <Ago time={time} ends={form === "ends"} />;
  return <Stamp time={time} text={form === "clock" ? clock(time) : absolute(time)} />;
}

function Ago({ time, ends }: { time: number; ends: boolean }) {
  return <Stamp time={time} text={ago(time, Math.max(useNow(), Date.now() - 5000), ends)} />;
}

function Stamp({ time, text }: { time: number; text: string }) {
  return (
    <time dateTime={new Date(time).toISOString()} title={`${absolute(time)}\n${new Date(time).toISOString()}`}>
      {text}
    </time>
  );
}
