// What the tests of this folder, in Node and in a browser, ask of a vector of the Go side.
import { checkEntry, compare, openSeen, type Problem, type Shown } from "./check";
import type { Verify } from "./hash";
import { parseKeys } from "./note";

export { verifyByBrowser, verifyByScript } from "./hash";

/** Vector is an entry, what was seen before, and what a checker must find. */
export interface Vector extends Shown {
  name: string;
  keys: string[];
  seen?: string;
  consistency?: string[];
  problem: Problem | "";
}

/** judge is the first problem of a vector; empty: it is proved. */
export async function judge(v: Vector, by: Verify): Promise<Problem | ""> {
  const proved = await checkEntry(v, v.keys, by);
  if (proved.problem) return proved.problem;
  const keys = parseKeys(v.keys);
  if (!v.seen || !keys || !proved.checkpoint) return "";
  const seen = await openSeen(v.seen, keys, by);
  return seen === "key" ? "key" : (compare(seen, proved.checkpoint, v.consistency ?? []) ?? "");
}
