// Two lists that are read page by page, as one: both have the newest first.
import type { Moment } from "../../ui/Timeline";
import type { Entry, Trace } from "./queries";

export type Happened = Moment & ({ is: "trace"; trace: Trace } | { is: "entry"; entry: Entry });

interface Part<T> {
  rows: T[];
  hasMore: boolean;
}

export interface Merged {
  moments: Happened[];
  /** Which lists must be read further before the next moment is known. */
  next: ("traces" | "entries")[];
}

export const ofTrace = (trace: Trace): Happened => ({
  is: "trace",
  key: `t${trace.id}`,
  at: trace.startTime,
  mark: trace.status === "denied" ? "deny" : trace.status === "error" ? "error" : undefined,
  trace,
});

export const ofEntry = (entry: Entry): Happened => ({
  is: "entry",
  key: `e${entry.index}`,
  at: entry.time,
  mark: entry.decision === "deny" ? "deny" : undefined,
  entry,
});

/**
 * merge puts both in one order. What is older than the end of a list that goes on is held back: what the list still
 * has may be newer.
 */
export function merge(traces: Part<Trace>, entries: Part<Entry>): Merged {
  const a = traces.rows.map(ofTrace);
  const b = entries.rows.map(ofEntry);
  const endOf = (list: Happened[], more: boolean) =>
    more
      ? list.length > 0
        ? timeOf(list[list.length - 1] as Happened)
        : Number.POSITIVE_INFINITY
      : Number.NEGATIVE_INFINITY;
  const ends = { traces: endOf(a, traces.hasMore), entries: endOf(b, entries.hasMore) };
  const known = Math.max(ends.traces, ends.entries);
  const moments: Happened[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const [x, y] = [a[i], b[j]];
    const next = !y || (x && timeOf(x) >= timeOf(y)) ? x : y;
    if (!next || timeOf(next) < known) break;
    moments.push(next);
    if (next === x) i++;
    else j++;
  }
  const next = (["traces", "entries"] as const).filter(
    (name) => ends[name] === known && known !== Number.NEGATIVE_INFINITY,
  );
  return { moments, next };
}

const timeOf = (moment: Happened) => Date.parse(moment.at);
