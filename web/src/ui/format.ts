// Numbers, money, sizes and times as people read them.

const locale = "en";
const plain = new Intl.NumberFormat(locale);
const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });

export const count = (n: number) => plain.format(n);

/** shortCount is 12.4K for 12,408; its title should say the whole number. */
export const shortCount = (n: number) => (Math.abs(n) < 10_000 ? plain.format(n) : compact.format(n));

/** money is US dollars: cents, and small sums with the digits that matter. */
export function money(usd: number): string {
  const digits =
    usd !== 0 && Math.abs(usd) < 0.01
      ? { minimumSignificantDigits: 2, maximumSignificantDigits: 2 }
      : { maximumFractionDigits: 2 };
  return new Intl.NumberFormat(locale, { style: "currency", currency: "USD", ...digits }).format(usd);
}

export const percent = (part: number, whole: number) =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 }).format(whole ? part / whole : 0);

export function bytes(n: number): string {
  for (const [size, unit] of [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
  ] as const) {
    if (n >= size) return `${(n / size).toFixed(1)} ${unit}`;
  }
  return `${n} B`;
}

/** duration is 380 ms, 12.4 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1).replace(/\.0$/, "") : Math.floor(s)} s`;
  const parts: [number, string][] = [
    [Math.floor(s / 86_400), "d"],
    [Math.floor(s / 3600) % 24, "h"],
    [Math.floor(s / 60) % 60, "min"],
    [Math.floor(s) % 60, "s"],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

// How far the clock of the server may be ahead, in seconds. What happened is then not to come.
const aheadOfUs = 60;

/**
 * ago is a time as lists show it: 4 s, 2 min, 3 h, 5 d, then the date; what is to come is in 4 s. Of what happened, a
 * little ahead is now; where something ends (ends), it is as far as it is.
 */
export function ago(time: number, now: number, ends = false): string {
  const s = Math.round((now - time) / 1000);
  if (s < 5 && s > (ends ? -5 : -aheadOfUs)) return "now";
  if (s < 0 && s > -7 * 86_400) return `in ${ago(now, time)}`;
  if (s < 0) return day(time);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  if (s < 7 * 86_400) return `${Math.floor(s / 86_400)} d`;
  return day(time);
}

const fullFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** absolute is a time with its zone, as details and titles show it. */
export const absolute = (time: number) => fullFormat.format(time);
export const day = (time: number) => dayFormat.format(time);
export const clock = (time: number) => clockFormat.format(time);
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
