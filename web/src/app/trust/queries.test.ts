import { expect, it } from "vitest";
import { type Tree, treesOf } from "./queries";

const tree = (rootId: string, children: number, anchors = 1) =>
  ({ rootId, planId: rootId, anchors: Array(anchors).fill({}), root: { children: Array(children).fill({}) } }) as Tree;

it("draws each tree once, and no plan that stands alone", () => {
  const [a, b, c] = [tree("a", 1), tree("b", 0, 2), tree("c", 0)];
  expect(treesOf([a, undefined, b, tree("a", 1), c])).toEqual([a, b]);
});
