import { expect, it } from "vitest";
import { chosenColumns, leastWidth, widthOf, writeColumns } from "./columns";
import type { Column } from "./Table";

const column = (id: string, more: Partial<Column<string>> = {}): Column<string> => ({
  id,
  head: id,
  width: "1fr",
  cell: () => null,
  ...more,
});
const all = [column("time", { always: true }), column("name"), column("user", { extra: true })];
const shown = (cols?: string[]) => chosenColumns(all, cols).map((c) => `${c.id} ${c.width}`);

it("shows what an address names, with its widths, in the table's order", () => {
  expect(shown()).toEqual(["time 1fr", "name 1fr"]);
  expect(shown(["user:200", "time"])).toEqual(["time 1fr", "user 200px"]);
  expect(shown(["user"])).toEqual(["time 1fr", "user 1fr"]);
});

it("takes nothing that breaks a table", () => {
  expect(shown(["nothing", "x:9"])).toEqual(["time 1fr", "name 1fr"]);
  expect(shown(["name:1", "user:9999"])).toEqual(["time 1fr", "name 60px", "user 1200px"]);
  expect(shown(["name:100px);color:red", "name:-5"])).toEqual(["time 1fr", "name 1fr"]);
  expect(widthOf(["name:320"], "name")).toBe(320);
});

it("writes what it reads, and leaves the default out", () => {
  expect(writeColumns(all, ["time", "name"], new Map())).toBeUndefined();
  const written = writeColumns(all, ["user"], new Map([["user", 200]]));
  expect(written).toEqual(["time", "user:200"]);
  expect(shown(written)).toEqual(["time 1fr", "user 200px"]);
});

it("knows how narrow columns can be", () => {
  expect(leastWidth([column("a", { width: "80px" }), column("b", { width: "minmax(160px, 3fr)" })])).toBe(276);
});
