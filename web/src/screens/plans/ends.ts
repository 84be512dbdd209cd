// How a plan stands and when it ends, in words.
import type { Node } from "../../app/trust/queries";
import { words } from "../../words/en";
import type { ListedPlan } from "./queries";

const w = words.plans;

/** endOf is when a plan ends or ended. Without a time it ended before its time, and nothing says when. */
export function endOf(p: Pick<ListedPlan, "status" | "endedAt" | "expiresAt">): {
  word: string;
  at: string | undefined;
} {
  if (p.endedAt) return { word: w.ended, at: p.endedAt };
  if (p.status === "failed" || p.status === "completed") return { word: w.ended, at: undefined };
  return { word: p.status === "active" ? w.ends : w.ended, at: p.expiresAt };
}

/** nodeOf finds a plan or delegation in its tree, and what it came from. */
export function nodeOf(
  root: Node | null | undefined,
  id: string,
  parent?: Node,
): { node: Node; parent?: Node } | undefined {
  if (!root) return undefined;
  if (root.id === id) return parent ? { node: root, parent } : { node: root };
  for (const child of root.children) {
    const found = nodeOf(child, id, root);
    if (found) return found;
  }
  return undefined;
}
