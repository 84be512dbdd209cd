import { describe, expect, it } from "vitest";
import { type Json, parseExact } from "../../api/exact";
import { isBase64, isSecretName, matches, pathOf, type Row, rowsOf, textOf, toggle, untouched } from "./tree";

describe("JSON viewer", () => {
  const value = parseExact('{"a":{"b":{"c":{"d":1}}},"n":12345678901234567890,"odd name":[1,2]}');

  it("folds below depth two", () => {
    const rows = rowsOf(value, untouched);
    expect(rows.map((r) => [r.path, r.open])).toEqual([
      ["", true],
      ["a", true],
      ["a.b", false],
      ["n", undefined],
      ['["odd name"]', true],
      ['["odd name"][0]', undefined],
      ['["odd name"][1]', undefined],
    ]);
    const folded = rows.find((r) => r.path === "a.b") as Row;
    expect(rowsOf(value, toggle(untouched, folded)).some((r) => r.path === "a.b.c")).toBe(true);
  });

  it("folds many members, and shows the rest on demand", () => {
    const many = Array.from({ length: 120 }, (_, i) => i) as Json;
    const [root] = rowsOf(many, untouched) as [Row];
    expect(rowsOf(many, untouched)).toHaveLength(1);
    const open = toggle(untouched, root);
    const rest = rowsOf(many, open).at(-1) as Row;
    expect(rest.rest).toBe(70);
    expect(rowsOf(many, toggle(open, rest)).at(-1)?.rest).toBe(20);
    expect(rowsOf(many, toggle(toggle(open, rest), rest))).toHaveLength(121);
  });

  it("keeps the text of numbers", () => {
    expect(textOf((value as { n: Json }).n)).toBe("12345678901234567890");
  });

  it("finds names and values", () => {
    expect(matches(value, "d")).toEqual(["a.b.c.d", '["odd name"]']);
    expect(matches(value, "567890")).toEqual(["n"]);
    expect(matches(value, "")).toEqual([]);
  });

  it("knows secrets and files", () => {
    expect(["password", "apiKey", "X-Authorization", "access_token"].every(isSecretName)).toBe(true);
    expect(["tokens", "name", 0].some(isSecretName)).toBe(false);
    expect(isBase64("iVBORw0KGgo=".repeat(30))).toBe(false);
    expect(isBase64(`${"iVBORw0KGgoA".repeat(30)}`)).toBe(true);
    expect(isBase64(`${"iVBORw0KGgoA".repeat(300)} pay mallory!!`)).toBe(false);
    expect(pathOf("a", "b-c")).toBe('a["b-c"]');
  });
});
