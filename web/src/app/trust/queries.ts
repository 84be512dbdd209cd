import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";

export type Tree = Body<"TrustTreeBody">;
export type Node = Body<"TrustNodeBody">;

/** chainQuery reads the tree that a plan or delegation stands in. */
export const chainQuery = (org: string, planId: string) =>
  queryOptions({
    queryKey: [org, "plans", "chain", planId],
    queryFn: ({ signal }) => api.get("/iap/trust/chain/{planId}", { params: { path: { planId } }, signal }),
  });

/** hasMore reports whether there is anything to draw beside the plan itself. */
export const hasMore = (t: Tree) => (t.root?.children.length ?? 0) > 0 || t.anchors.length > 1;

/** treesOf are the trees that have something to draw, each once: several plans may stand in one. */
export function treesOf(found: (Tree | undefined)[]): Tree[] {
  const byRoot = new Map<string, Tree>();
  for (const tree of found) if (tree && hasMore(tree) && !byRoot.has(tree.rootId)) byRoot.set(tree.rootId, tree);
  return [...byRoot.values()];
}
