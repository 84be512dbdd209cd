import { beforeEach, expect, it, vi } from "vitest";
import { differs, keepMine, nothing, readMine, retitled, slugOf } from "./draft";

const kept = new Map<string, string>();
vi.stubGlobal("sessionStorage", {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => kept.set(key, value),
  removeItem: (key: string) => kept.delete(key),
});
beforeEach(() => kept.clear());

it("suggests an address that the server takes", () => {
  expect(slugOf("  Plans before tools! ")).toBe("plans-before-tools");
  expect(slugOf("Über Ärger & 2 Dinge")).toBe("uber-arger-2-dinge");
  expect(slugOf("<script>")).toBe("script");
  expect(slugOf("日本")).toBe("");
  for (const title of ["a ".repeat(200), `${"x".repeat(79)} y`]) {
    expect(slugOf(title)).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(slugOf(title).length).toBeLessThanOrEqual(80);
  }
});

it("lets the address follow the title until somebody chooses one", () => {
  const first = retitled(nothing, "One thing");
  expect(first.slug).toBe("one-thing");
  expect(retitled(first, "Two things").slug).toBe("two-things");
  expect(retitled({ ...first, slug: "mine" }, "Two things").slug).toBe("mine");
});

it("keeps what was not saved, and nothing that is broken", () => {
  const mine = { base: 3, content: { ...nothing, body: "text" } };
  keepMine("a", mine);
  expect(readMine("a")).toEqual(mine);
  expect(readMine("b")).toBeUndefined();
  keepMine("a", undefined);
  expect(readMine("a")).toBeUndefined();
  for (const broken of ["{", '{"base":1}', '{"base":1,"content":{"slug":"x"}}', '{"content":{}}', "null"]) {
    kept.set("writ.post..a", broken);
    expect(readMine("a")).toBeUndefined();
  }
});

it("knows a change", () => {
  expect(differs(nothing, { ...nothing })).toBe(false);
  expect(differs(nothing, { ...nothing, summary: "x" })).toBe(true);
});
