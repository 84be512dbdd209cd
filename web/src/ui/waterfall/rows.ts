// Which rows a waterfall shows: what is open, what was found, runs of like
// siblings as one, and times in which nothing was recorded.
import { endOf, type Node, type SpanKind, type Tree, worse } from "./tree";

export type Row =
  | { is: "span"; key: string; level: number; node: number; open: boolean | undefined }
  | GroupRow
  | { is: "gap"; key: string; level: number; from: number; to: number }
  | { is: "orphans"; key: string; level: number; count: number; open: boolean };

export interface GroupRow {
  is: "group";
  key: string;
  level: number;
  nodes: number[];
  name: string;
  open: boolean;
  failed: number;
  verdict: string | undefined;
}

export interface Shown {
  /** What a person opened or closed; the rest is as it begins. */
  turned: ReadonlyMap<string, boolean>;
  find: string;
  kinds: readonly SpanKind[];
}

const manySpans = 200;
const alike = 10;
const gapShare = 0.1;

/** rowsOf lists the rows from the top. */
export function rowsOf(tree: Tree, shown: Shown): Row[] {
  const kept = matches(tree, shown);
  const builder = new Rows(tree, shown, kept);
  builder.list(tree.roots, 1, "");
  const orphans = kept ? tree.orphans.filter((i) => kept.has(i)) : tree.orphans;
  if (orphans.length > 0) {
    const open = kept !== undefined || (shown.turned.get("orphans") ?? true);
    builder.rows.push({ is: "orphans", key: "orphans", level: 1, count: tree.orphans.length, open });
    if (open) builder.list(tree.orphans, 2, "orphans");
  }
  return builder.rows;
}

/** matches is what was found with what is above it; undefined: nothing is looked for. */
export function matches(tree: Tree, { find, kinds }: Shown): Set<number> | undefined {
  if (find === "" && kinds.length === 0) return undefined;
  const text = find.toLowerCase();
  const kept = new Set<number>();
  tree.nodes.forEach(({ span }, i) => {
    if (kinds.length > 0 && !kinds.includes(span.kind)) return;
    if (text && !span.name.toLowerCase().includes(text) && span.id !== text) return;
    for (let at = i; at >= 0 && !kept.has(at); at = (tree.nodes[at] as Node).parent) kept.add(at);
  });
  return kept;
}

/** opensAtFirst is whether a span is open before anybody touches it. */
export const opensAtFirst = (tree: Tree, node: Node) => tree.nodes.length <= manySpans || node.depth < 2;

// What is to be listed next, on a stack instead of by recursion: a trace may be thousands deep.
type Todo = () => void;

class Rows {
  readonly rows: Row[] = [];
  private readonly stack: Todo[] = [];

  constructor(
    private readonly tree: Tree,
    private readonly shown: Shown,
    private readonly kept: Set<number> | undefined,
  ) {}

  list(tops: number[], level: number, above: string): void {
    this.push(this.siblings(tops, level, above, undefined));
    for (let next = this.stack.pop(); next; next = this.stack.pop()) next();
  }

  private push(todo: Todo[]): void {
    for (let i = todo.length - 1; i >= 0; i--) this.stack.push(todo[i] as Todo);
  }

  private siblings(all: number[], level: number, above: string, parent: Node | undefined): Todo[] {
    if (this.kept) return all.filter((i) => this.kept?.has(i)).map((i) => () => this.span(i, level));
    const groups = groupsOf(this.tree, all);
    const todo: Todo[] = [];
    let covered = parent?.span.start ?? Number.POSITIVE_INFINITY;
    for (const i of all) {
      const node = this.tree.nodes[i] as Node;
      todo.push(...this.gap(covered, node.span.start, level, `${above}/${i}`));
      covered = covered === Number.POSITIVE_INFINITY ? endOf(node.span) : Math.max(covered, endOf(node.span));
      const group = groups.get(likeness(node));
      if (!group) todo.push(() => this.span(i, level));
      else if (group[0] === i) todo.push(() => this.group(group, level, above));
    }
    if (parent?.span.end && all.length > 0) todo.push(...this.gap(covered, parent.span.end, level, `${above}/end`));
    return todo;
  }

  private gap(from: number, to: number, level: number, key: string): Todo[] {
    if (!(to - from >= gapShare * (this.tree.end - this.tree.start))) return [];
    return [() => this.rows.push({ is: "gap", key: `gap:${key}`, level, from, to })];
  }

  private span(i: number, level: number): void {
    const node = this.tree.nodes[i] as Node;
    const key = `span:${i}`;
    const open = node.children.length === 0 ? undefined : this.isOpen(node, key);
    this.rows.push({ is: "span", key, level, node: i, open });
    if (open) this.push(this.siblings(node.children, level + 1, key, node));
  }

  private isOpen(node: Node, key: string): boolean {
    if (this.kept) return node.children.some((c) => this.kept?.has(c));
    return this.shown.turned.get(key) ?? opensAtFirst(this.tree, node);
  }

  private group(nodes: number[], level: number, above: string): void {
    const first = this.tree.nodes[nodes[0] as number] as Node;
    const key = `group:${above}:${likeness(first)}`;
    const open = this.shown.turned.get(key) ?? false;
    let failed = 0;
    let verdict: string | undefined;
    for (const i of nodes) {
      const { span, below } = this.tree.nodes[i] as Node;
      failed += below.failed + (span.failed ? 1 : 0);
      verdict = worse(verdict, worse(below.verdict, span.shadow ? undefined : span.verdict));
    }
    this.rows.push({ is: "group", key, level, nodes, name: first.span.name, open, failed, verdict });
    if (open) this.push(nodes.map((i) => () => this.span(i, level + 1)));
  }
}

const likeness = ({ span }: Node) => `${span.kind} ${span.name}`;

// Ten or more siblings of one name and kind are one row.
function groupsOf(tree: Tree, nodes: number[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  if (nodes.length < alike) return found;
  for (const i of nodes) {
    const key = likeness(tree.nodes[i] as Node);
    const list = found.get(key);
    if (list) list.push(i);
    else found.set(key, [i]);
  }
  for (const [key, list] of found) if (list.length < alike) found.delete(key);
  return found;
}
