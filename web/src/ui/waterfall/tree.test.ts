import { describe, expect, it } from "vitest";
import { type Row, rowsOf, type Shown } from "./rows";
import { buildTree, criticalPath, type Span } from "./tree";

const span = (
  id: string,
  parent: string | null,
  start: number,
  end: number | null,
  more: Partial<Span> = {},
): Span => ({
  id,
  parent,
  kind: "other",
  name: id,
  start,
  end,
  failed: false,
  ...more,
});
const shown = (more: Partial<Shown> = {}): Shown => ({ turned: new Map(), find: "", kinds: [], ...more });
const lines = (spans: Span[], more: Partial<Shown> = {}) => {
  const tree = buildTree(spans);
  return rowsOf(tree, shown(more)).map((row) => `${" ".repeat(row.level)}${nameOf(row, spans)}`);
};
function nameOf(row: Row, spans: Span[]): string {
  switch (row.is) {
    case "span":
      return `${row.open === undefined ? "" : row.open ? "v " : "> "}${spans[row.node]?.id}`;
    case "group":
      return `${row.open ? "v " : "> "}${row.name} x${row.nodes.length}${row.verdict ? ` ${row.verdict}` : ""}`;
    case "gap":
      return `gap ${row.to - row.from}`;
    default:
      return `orphans ${row.count}`;
  }
}

describe("the tree", () => {
  it("has children below their parents, by their start, in whatever order they came", () => {
    const spans = [span("c", "a", 60, 80), span("b", "a", 10, 50), span("a", null, 0, 100), span("d", "b", 20, 30)];
    expect(lines(spans)).toEqual([
      " v a",
      "  gap 10",
      "  v b",
      "   gap 10",
      "   d",
      "   gap 20",
      "  gap 10",
      "  c",
      "  gap 20",
    ]);
  });

  it("keeps spans whose parent is missing, or is their own child", () => {
    const spans = [
      span("a", null, 0, 1),
      span("b", "lost", 0, 1),
      span("c", "d", 0, 1),
      span("d", "c", 0, 1),
      span("self", "self", 0, 1),
    ];
    const tree = buildTree(spans);
    expect(tree.orphans.length).toBe(3);
    const seen = lines(spans).map((l) => l.replace(/^ *[v>]? ?/, ""));
    for (const { id } of spans) expect(seen).toContain(id);
    expect(seen).toContain("orphans 3");
  });

  it("shows two spans of one id", () => {
    expect(lines([span("a", null, 0, 1), span("a", null, 0, 1)])).toEqual([" a", " a"]);
  });

  it("says which clocks differ, and what is below", () => {
    const tree = buildTree([
      span("a", null, 10, 20),
      span("early", "a", 5, 15),
      span("late", "a", 25, 30, { failed: true }),
      span("fine", "a", 10, 40, { verdict: "hold" }),
      span("deep", "fine", 12, 13, { verdict: "deny" }),
      span("shade", "fine", 12, 13, { verdict: "deny", shadow: true }),
    ]);
    expect(tree.nodes.map((n) => n.skewed)).toEqual([false, true, true, false, false, false]);
    expect(tree.nodes[0]?.below).toEqual({ spans: 5, failed: 1, verdict: "deny" });
  });

  it("is built of 100,000 spans, a chain or a fan, without a deep stack", () => {
    const chain = Array.from({ length: 100_000 }, (_, i) => span(`${i}`, i === 0 ? null : `${i - 1}`, i, 100_000));
    const tree = buildTree(chain);
    expect(tree.nodes[0]?.below.spans).toBe(99_999);
    expect(criticalPath(tree).size).toBe(100_000);
    expect(rowsOf(tree, shown({ find: "99999" })).length).toBe(100_000);
    const fan = Array.from({ length: 100_000 }, (_, i) => span(`${i}`, i === 0 ? null : "0", i, i + 1));
    expect(buildTree(fan).nodes[0]?.children.length).toBe(99_999);
    expect(criticalPath(buildTree(fan.slice(1).map((s) => ({ ...s, parent: null })))).size).toBe(99_999);
  });
});

describe("rows", () => {
  const many = Array.from({ length: 300 }, (_, i) =>
    span(`${i}`, i === 0 ? null : i < 3 ? "0" : `${(i % 2) + 1}`, 0, 9),
  );
  it("of over 200 spans open at depth 2", () => {
    expect(lines(many)[0]).toBe(" v 0");
    const deep = Array.from({ length: 300 }, (_, i) => span(`${i}`, i === 0 ? null : `${i - 1}`, 0, 9));
    expect(lines(deep)).toEqual([" v 0", "  v 1", "   > 2"]);
    expect(lines(deep, { turned: new Map([["span:2", true]]) }).length).toBe(4);
  });

  it("fold ten like siblings into one, with the worst verdict", () => {
    const spans = [
      span("root", null, 0, 100),
      ...Array.from({ length: 12 }, (_, i) =>
        span(`f${i}`, "root", 0, 100, { name: "fetch", ...(i === 5 ? { verdict: "deny" } : {}) }),
      ),
      span("other", "root", 0, 100),
    ];
    expect(lines(spans)).toEqual([" v root", "  > fetch x12 deny", "  other"]);
    const open = lines(spans, { turned: new Map([["group:span:0:other fetch", true]]) });
    expect(open.length).toBe(15);
    expect(open[2]).toBe("   f0");
  });

  it("that are found keep what is above them", () => {
    const spans = [
      span("a", null, 0, 9),
      span("b", "a", 0, 9),
      span("x", "b", 0, 9, { kind: "tool" }),
      span("c", "a", 0, 9),
    ];
    expect(lines(spans, { find: "X" })).toEqual([" v a", "  v b", "   x"]);
    expect(lines(spans, { kinds: ["tool"] })).toEqual([" v a", "  v b", "   x"]);
    expect(lines(spans, { find: "nothing" })).toEqual([]);
  });
});

it("the critical path goes back from the end through the child that ended last", () => {
  const tree = buildTree([
    span("root", null, 0, 100),
    span("a", "root", 0, 40),
    span("b", "root", 10, 90),
    span("c", "root", 45, 60),
    span("b1", "b", 20, 80),
    span("b2", "b", 30, 50),
  ]);
  expect([...criticalPath(tree)].map((i) => tree.nodes[i]?.span.id)).toEqual(["root", "b", "b1"]);
});
