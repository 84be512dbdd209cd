// The arguments of a call beside what its plan gives for them, and beside where their values come from.
import { Exact, type Json, parseExact } from "../../api/exact";
import type { Approval, Plan, Shown } from "./queries";

type Doubt = NonNullable<Approval["grounding"]>[number];
type Step = Plan["steps"][number];

export interface ArgumentRow {
  name: string;
  /** Undefined: the plan gives it and the call does not have it. */
  value: Json | undefined;
  /** same: as the plan says. differs. open: the plan leaves it open. hidden: redacted, so nobody can tell. */
  plan?: "same" | "differs" | "open" | "hidden";
  planned?: Json;
  doubts: Doubt[];
}

export interface Compared {
  rows: ArgumentRow[];
  /** Doubts about what is no argument by name. */
  others: Doubt[];
  /** The step that it was compared with. */
  step: number | undefined;
}

const redacted = "[redacted]";

/** isRedacted reports whether something in a value was taken out before it was stored. */
export function isRedacted(value: Json | undefined): boolean {
  if (typeof value === "string") return value.includes(redacted);
  if (value === null || value === undefined || typeof value !== "object" || value instanceof Exact) return false;
  return Object.values(value).some(isRedacted);
}

/** compare sets a call beside the step of its plan that fits it best; without a plan it says nothing about one. */
export function compare(request: Approval, plan: Plan | undefined, shown: Shown["planSteps"]): Compared {
  const given = (request.arguments ?? {}) as Record<string, Json>;
  const doubts = request.grounding ?? [];
  const allowed = new Set(shown.map((s) => s.index));
  const steps = (plan?.steps ?? []).filter((s) => allowed.has(s.step));
  const readings = steps.map((step) => ({ step: step.step, rows: rowsOf(given, doubts, step) }));
  readings.sort((a, b) => differences(a.rows) - differences(b.rows) || a.step - b.step);
  const best = readings[0];
  const rows = best?.rows ?? rowsOf(given, doubts, undefined);
  const named = new Set(rows.map((r) => r.name));
  return { rows, others: doubts.filter((d) => !named.has(d.argument)), step: best?.step };
}

const differences = (rows: ArgumentRow[]) => rows.filter((r) => r.plan === "differs").length;

function rowsOf(given: Record<string, Json>, doubts: Doubt[], step: Step | undefined): ArgumentRow[] {
  const fixed = new Map(step?.fixed.map(({ name, value }) => [name, parseExact(value)]));
  const rows: ArgumentRow[] = Object.entries(given).map(([name, value]) => {
    const about = doubts.filter((d) => d.argument === name);
    if (!step) return { name, value, doubts: about };
    const planned = fixed.get(name);
    if (planned === undefined) return { name, value, plan: "open", doubts: about };
    return { name, value, plan: judged(value, planned), planned, doubts: about };
  });
  for (const [name, planned] of fixed) {
    if (!Object.hasOwn(given, name)) rows.push({ name, value: undefined, plan: "differs", planned, doubts: [] });
  }
  return rows;
}

function judged(value: Json, planned: Json): "same" | "differs" | "hidden" {
  if (isRedacted(value) || isRedacted(planned)) return "hidden";
  return same(value, planned) ? "same" : "differs";
}

const isNumber = (value: Json): value is number | Exact => typeof value === "number" || value instanceof Exact;

/** same reports whether two values are one in JSON: 1 is 1.0, and large numbers are compared by their digits. */
export function same(a: Json, b: Json): boolean {
  if (isNumber(a) && isNumber(b)) {
    if (String(a) === String(b)) return true;
    // Beyond this a double holds two numbers as one.
    return Number(a) === Number(b) && Math.abs(Number(a)) < 2 ** 53 && digits(a) <= 15 && digits(b) <= 15;
  }
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => same(item, b[i] as Json));
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && same(a[name] as Json, b[name] as Json))
    );
  }
  return a === b;
}

const digits = (n: number | Exact) => String(n).replace(/e.*$/i, "").replace(/\D/g, "").length;

function isObject(value: Json): value is { [name: string]: Json } {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Exact);
}

/** changedNames lists the arguments that an approver changed, added or left out. */
export function changedNames(before: Record<string, Json>, after: Record<string, Json>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => {
    if (!Object.hasOwn(before, name) || !Object.hasOwn(after, name)) return true;
    return !same(before[name] as Json, after[name] as Json);
  });
}
