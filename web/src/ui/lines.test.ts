import { expect, it } from "vitest";
import { diffLines, nearChanges } from "./lines";

const short = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => ({ same: " ", plus: "+", minus: "-" })[kind] + text);

it("finds the lines that changed", () => {
  expect(short("a\nb\nc", "a\nx\nc")).toEqual([" a", "-b", "+x", " c"]);
  expect(short("a\nb", "a\nb")).toEqual([" a", " b"]);
  expect(short("a\nb\nc\nd", "b\nc\nnew\nd")).toEqual(["-a", " b", " c", "+new", " d"]);
  expect(short("", "a")).toEqual(["+a"]);
});

it("always gives back both texts", () => {
  const texts = ["a\nb\nc", "", "a", "c\nb\na", "a\na\nb\na"];
  for (const before of texts)
    for (const after of texts) {
      const lines = diffLines(before, after);
      const without = (kind: string) => lines.flatMap((l) => (l.kind === kind ? [] : [l.text])).join("\n");
      expect(without("plus")).toBe(before);
      expect(without("minus")).toBe(after);
    }
});

it("leaves out what is far from a change", () => {
  const text = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const changed = text.with(10, "changed");
  const shown = nearChanges(diffLines(text.join("\n"), changed.join("\n")));
  expect(shown[0]).toBe(7);
  expect(shown.at(-1)).toBe(6);
  expect(shown).toHaveLength(10);
});
