// The spans of a trace as a tree. Everything is one pass over the spans or over
// the tree: a trace may have tens of thousands, and their order is the sender's.

export type SpanKind = "generation" | "tool" | "decision" | "other";

/** Span is a span as a waterfall draws it. Times are milliseconds, with fractions. */
export interface Span {
  id: string;
  parent: string | null;
  kind: SpanKind;
  name: string;
  start: number;
  /** Null: it has not ended, or nobody said when. */
  end: number | null;
  failed: boolean;
  verdict?: string | undefined;
  shadow?: boolean;
  /** The entry in the log. */
  index?: number | undefined;
}

/** Node is a span in its tree; numbers are positions in `nodes`. */
export interface Node {
  span: Span;
  parent: number;
  children: number[];
  depth: number;
  /** Its parent was not received, or is its own descendant. */
  orphan: boolean;
  /** It begins before its parent, or after its parent's end. */
  skewed: boolean;
  /** Of all that is below it. */
  below: Below;
}

export interface Below {
  spans: number;
  failed: number;
  verdict: string | undefined;
}

export interface Tree {
  nodes: Node[];
  roots: number[];
  orphans: number[];
  byId: ReadonlyMap<string, number>;
  start: number;
  end: number;
}

const severity = ["allow", "ask", "hold", "deny"];

/** worse is the stricter of two verdicts. */
export const worse = (a: string | undefined, b: string | undefined) =>
  severity.indexOf(b ?? "") > severity.indexOf(a ?? "") ? b : a;

/** endOf is when a span ended; one that did not say counts as an instant. */
export const endOf = (span: Span) => Math.max(span.start, span.end ?? span.start);

/** buildTree makes the tree. Parents that are missing or form a circle leave orphans. */
export function buildTree(spans: readonly Span[]): Tree {
  const byId = new Map<string, number>();
  spans.forEach((span, i) => {
    if (!byId.has(span.id)) byId.set(span.id, i);
  });
  const parents = spans.map((span) => (span.parent === null ? -1 : (byId.get(span.parent) ?? missing)));
  cutCircles(parents);
  const nodes: Node[] = spans.map((span, i) => ({
    span,
    parent: Math.max(-1, parents[i] ?? -1),
    children: [],
    depth: 0,
    orphan: parents[i] === missing,
    skewed: false,
    below: { spans: 0, failed: 0, verdict: undefined },
  }));
  const roots: number[] = [];
  const orphans: number[] = [];
  nodes.forEach((node, i) => {
    if (node.parent >= 0) nodes[node.parent]?.children.push(i);
    else (node.orphan ? orphans : roots).push(i);
  });
  const byStart = (a: number, b: number) => (nodes[a]?.span.start ?? 0) - (nodes[b]?.span.start ?? 0) || a - b;
  for (const list of [roots, orphans]) list.sort(byStart);
  for (const node of nodes) if (node.children.length > 1) node.children.sort(byStart);
  sumUp(nodes, [...roots, ...orphans]);
  const { start, end } = boundsOf(spans);
  return { nodes, roots, orphans, byId, start, end };
}

const missing = -2;

// Each node is walked from once; a walk that meets itself is a circle, which is cut there.
function cutCircles(parents: number[]): void {
  const walk = new Int32Array(parents.length); // 0: not seen; else the walk that saw it
  for (let i = 0; i < parents.length; i++) {
    let at = i;
    while (at >= 0 && walk[at] === 0) {
      walk[at] = i + 1;
      const up = parents[at] ?? -1;
      if (up >= 0 && walk[up] === i + 1) {
        parents[at] = missing;
        break;
      }
      at = up;
    }
  }
}

function sumUp(nodes: Node[], tops: number[]): void {
  const order: number[] = [];
  const stack = [...tops];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at);
    const node = nodes[at] as Node;
    for (const child of node.children) {
      const below = nodes[child] as Node;
      below.depth = node.depth + 1;
      below.skewed = below.span.start < node.span.start || below.span.start > (node.span.end ?? below.span.start);
      stack.push(child);
    }
  }
  for (const at of order.reverse()) {
    const { parent, below, span } = nodes[at] as Node;
    const up = nodes[parent]?.below;
    if (!up) continue;
    up.spans += below.spans + 1;
    up.failed += below.failed + (span.failed ? 1 : 0);
    up.verdict = worse(up.verdict, worse(below.verdict, span.shadow ? undefined : span.verdict));
  }
}

function boundsOf(spans: readonly Span[]): { start: number; end: number } {
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    start = Math.min(start, span.start);
    end = Math.max(end, endOf(span));
  }
  return spans.length === 0 ? { start: 0, end: 1 } : { start, end: Math.max(end, start + 0.001) };
}

/** criticalPath is what the duration is made of: from the end back through the child that ended last. */
export function criticalPath(tree: Tree): Set<number> {
  const endAt = (i: number) => endOf((tree.nodes[i] as Node).span);
  const latestFirst = (list: number[]) => [...list].sort((a, b) => endAt(b) - endAt(a) || a - b);
  const path = new Set<number>();
  // Where it is: siblings, how far they were looked through, and until when one of them must have ended.
  const stack = [{ list: latestFirst(tree.roots), at: 0, until: tree.end }];
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    while (top.at < top.list.length && endAt(top.list[top.at] as number) > top.until) top.at++;
    const last = top.list[top.at++];
    if (last === undefined) {
      stack.pop();
      continue;
    }
    const { span, children } = tree.nodes[last] as Node;
    path.add(last);
    top.until = span.start;
    if (children.length > 0) stack.push({ list: latestFirst(children), at: 0, until: endOf(span) });
  }
  return path;
}
