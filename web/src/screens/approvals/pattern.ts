// The pattern of a standing approval: what each argument of the call may be from now on.
import { Exact, type Json } from "../../api/exact";
import { isRedacted } from "./compare";

export type Check = "equals" | "max" | "prefix" | "any";

export interface Leaf {
  /** Members of objects with dots between, as patterns name them. */
  path: string;
  value: Json;
  /** How it may be bound. */
  checks: Check[];
}

export interface Bound {
  check: Check;
  /** What was typed for max and prefix. */
  text: string;
}

const most = 32;

/**
 * leavesOf are the arguments that a pattern must name. Undefined: no pattern can name them all, because there are too
 * many or a name has a dot.
 */
export function leavesOf(given: Record<string, Json>): Leaf[] | undefined {
  const leaves: Leaf[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (name === "" || name.includes(".")) return undefined;
    add(leaves, name, value);
  }
  return leaves.length > 0 && leaves.length <= most ? leaves : undefined;
}

function add(leaves: Leaf[], path: string, value: Json): void {
  const members = membersOf(value);
  // An object whose members cannot be named is bound as a whole.
  if (!members || members.length === 0 || members.some(([name]) => name === "" || name.includes("."))) {
    leaves.push({ path, value, checks: checksOf(value) });
    return;
  }
  for (const [name, member] of members) add(leaves, `${path}.${name}`, member);
}

function membersOf(value: Json): [string, Json][] | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Exact) return undefined;
  return Object.entries(value);
}

function checksOf(value: Json): Check[] {
  // What was taken out cannot be compared: only "any" fits the call that waits.
  if (isRedacted(value)) return ["any"];
  if (typeof value === "number" || value instanceof Exact) return ["equals", "max", "any"];
  if (typeof value === "string" && value !== "") return ["equals", "prefix", "any"];
  return ["equals", "any"];
}

/** firstBounds keep everything as it is: an approver widens on purpose. */
export const firstBounds = (leaves: Leaf[]): Record<string, Bound> =>
  Object.fromEntries(
    leaves.map(({ path, value, checks }) => {
      const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
      return [path, { check: checks[0] ?? "any", text: value instanceof Exact ? value.text : text }];
    }),
  );

/** patternOf writes the pattern; undefined: a bound is no number, or empty. */
export function patternOf(leaves: Leaf[], bounds: Record<string, Bound>): Record<string, unknown> | undefined {
  const pattern: Record<string, unknown> = {};
  for (const { path, value, checks } of leaves) {
    const { check, text } = bounds[path] ?? { check: checks[0] ?? "any", text: "" };
    if (check === "max") {
      const number = text.trim();
      if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(number)) return undefined;
      pattern[path] = { max: String(Number(number)) === number ? Number(number) : new Exact(number) };
    } else if (check === "prefix") {
      if (text === "") return undefined;
      pattern[path] = { prefix: text };
    } else pattern[path] = check === "any" ? { any: true } : { equals: value };
  }
  return pattern;
}
