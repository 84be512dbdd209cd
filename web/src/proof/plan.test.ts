// The trees that the Go side makes of plans.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hexOf } from "./bytes";
import { hashOfLeaf, leafOfStep, type PlanLeaf, type PlanStep, rootOf, stepDigest, wayOf } from "./plan";

interface Vector {
  name: string;
  root: string;
  ordered: boolean;
  steps: PlanStep[];
  leaves: PlanLeaf[];
}

const file = new URL("../../../internal/intent/plan/testdata/trees.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];

describe("trees of plans", () => {
  it.each(vectors.map((v) => [v.name, v] as const))("%s", (_, { root, ordered, steps, leaves }) => {
    const hashes = leaves.map(hashOfLeaf);
    expect(hexOf(rootOf(hashes))).toBe(root);
    expect(leaves).toHaveLength(2 * steps.length + 1);
    for (const [i, step] of steps.entries()) {
      expect(stepDigest(step, ordered)).toBe(leaves[leafOfStep(i)]?.digest);
      expect(hexOf(wayOf(hashes, leafOfStep(i))?.root ?? new Uint8Array())).toBe(root);
      for (const change of [{ strict: !step.strict }, { tool: `${step.tool}x` }, { maxCalls: step.maxCalls + 1 }]) {
        expect(stepDigest({ ...step, ...change }, ordered)).not.toBe(leaves[leafOfStep(i)]?.digest);
      }
    }
    const forged = leaves.map((leaf, i) => (i === 0 ? { ...leaf, path: "/steps/[9]/action" } : leaf));
    expect(hexOf(rootOf(forged.map(hashOfLeaf)))).not.toBe(root);
  });
});
