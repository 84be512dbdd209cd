// A span of time as it stands in addresses: range=7d, or from and to in UTC.
import { useRef } from "react";

export const presets = ["1h", "24h", "7d", "30d", "90d"] as const;
export type Preset = (typeof presets)[number];

export interface RangeSearch {
  range?: Preset | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Bounds is a span of time as routes take it; until is absent for one that goes on. */
export interface Bounds {
  from: string;
  until?: string;
}

const minute = 60_000;
const units: Record<string, number> = { m: minute, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** parseMoment reads "-2h", "now", a date or a time; undefined: it is none of these. Without a zone it is local. */
export function parseMoment(text: string, now: number): number | undefined {
  const trimmed = text.trim();
  if (trimmed === "now") return now;
  const relative = /^-(\d{1,4})\s*([mhdw])$/.exec(trimmed);
  if (relative) return now - Number(relative[1]) * (units[relative[2] ?? ""] ?? 0);
  if (!/^\d{4}-\d\d-\d\d/.test(trimmed)) return undefined;
  // A bare date would be read as UTC.
  const time = Date.parse(trimmed.length === 10 ? `${trimmed}T00:00` : trimmed);
  return Number.isNaN(time) ? undefined : time;
}

/** boundsOf is what a range covers now. In a component use useBounds: each moment has other bounds. */
export function boundsOf(search: RangeSearch, fallback: Preset, now: number): Bounds {
  if (search.from) return { from: search.from, ...(search.to ? { until: search.to } : {}) };
  const preset = search.range ?? fallback;
  const span = Number.parseInt(preset, 10) * (units[preset.slice(-1)] ?? 0);
  return { from: new Date(now - span).toISOString() };
}

/** lengthOf is how long bounds are, in milliseconds. */
export const lengthOf = (bounds: Bounds, now: number) =>
  (bounds.until ? Date.parse(bounds.until) : now) - Date.parse(bounds.from);

// How long bounds that go on are held.
const heldFor = 5 * minute;

/** useBounds is what a range covers, the same object until the range changes or minutes have passed: fit for keys. */
export function useBounds(search: RangeSearch, fallback: Preset): Bounds {
  const held = useRef<{ key: string; at: number; bounds: Bounds }>(undefined);
  const key = [search.range ?? fallback, search.from, search.to].join(" ");
  const now = Math.floor(Date.now() / minute) * minute;
  if (held.current?.key !== key || now - held.current.at >= heldFor) {
    held.current = { key, at: now, bounds: boundsOf(search, fallback, now) };
  }
  return held.current.bounds;
}
