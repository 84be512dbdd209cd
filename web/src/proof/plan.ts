// The tree of a plan: its hash commits to every step. See "Steps of a plan" in docs/audit-log-format.md.
import { type Bytes, hexOf, utf8 } from "./bytes";
import { leafHash, nodeHash, sha256 } from "./hash";
import { canonical } from "./record";
import { climb, type Level } from "./tree";

/** PlanLeaf is a path in the plan, and the digest of the value there. */
export interface PlanLeaf {
  path: string;
  digest: string;
}

/** PlanStep is a step as it is judged; the values of its arguments are canonical JSON. */
export interface PlanStep {
  action: string;
  server: string;
  tool: string;
  fixed: { name: string; value: string }[];
  strict: boolean;
  maxCalls: number;
}

export const hashOfLeaf = ({ path, digest }: PlanLeaf): Bytes => leafHash(canonical({ digest, path }));

/** rootOf computes the root of leaves. */
export function rootOf(leaves: Bytes[]): Bytes {
  const first = leaves[0];
  if (!first) return sha256();
  if (leaves.length === 1) return first;
  let middle = 1;
  while (middle * 2 < leaves.length) middle *= 2;
  return nodeHash(rootOf(leaves.slice(0, middle)), rootOf(leaves.slice(middle)));
}

/** wayOf is the way of one leaf to the root. */
export function wayOf(leaves: Bytes[], index: number): { root: Bytes; levels: Level[] } | undefined {
  const leaf = leaves[index];
  return leaf && climb(leaf, index, leaves.length, besides(leaves, index));
}

// The hashes beside the way, from the leaf up.
function besides(leaves: Bytes[], index: number): Bytes[] {
  if (leaves.length <= 1) return [];
  let middle = 1;
  while (middle * 2 < leaves.length) middle *= 2;
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
  return index < middle ? [...besides(left, index), rootOf(right)] : [...besides(right, index - middle), rootOf(left)];
}

/** leafOfStep is where the whole step stands among the leaves; its action stands before it. */
export const leafOfStep = (step: number) => 2 * step + 1;

/** stepDigest is the digest of all that a step says. */
export function stepDigest(step: PlanStep, ordered: boolean): string {
  const given = step.fixed.map(({ name, value }) => `${canonical(name)}:${value}`).join(",");
  const text =
    `{"action":${canonical(step.action)},"arguments":{${given}},"max_calls":${step.maxCalls},` +
    `"mcp":${canonical(step.server)},"ordered":${ordered},"strict":${step.strict},"tool":${canonical(step.tool)}}`;
  return hexOf(sha256(utf8(text)));
}
