import { expect, it } from "vitest";
import { Exact } from "../../api/exact";
import { firstBounds, leavesOf, patternOf } from "./pattern";

it("names every argument by its path, and keeps it as it is until somebody widens it", () => {
  const leaves = leavesOf({ to: "landlord", deep: { list: [1], big: new Exact("1.50") }, on: true }) ?? [];
  expect(leaves.map((l) => l.path)).toEqual(["to", "deep.list", "deep.big", "on"]);
  const bounds = firstBounds(leaves);
  expect(patternOf(leaves, bounds)).toEqual({
    to: { equals: "landlord" },
    "deep.list": { equals: [1] },
    "deep.big": { equals: new Exact("1.50") },
    on: { equals: true },
  });
  bounds.to = { check: "prefix", text: "land" };
  bounds["deep.big"] = { check: "max", text: "12345678901234567890" };
  bounds.on = { check: "any", text: "" };
  expect(patternOf(leaves, bounds)).toEqual({
    to: { prefix: "land" },
    "deep.list": { equals: [1] },
    "deep.big": { max: new Exact("12345678901234567890") },
    on: { any: true },
  });
});

it("refuses limits that are none", () => {
  const leaves = leavesOf({ amount: 5, to: "x" }) ?? [];
  for (const text of ["", "five", "1e3", "0x10", "01"])
    expect(patternOf(leaves, { ...firstBounds(leaves), amount: { check: "max", text } })).toBeUndefined();
  expect(patternOf(leaves, { ...firstBounds(leaves), to: { check: "prefix", text: "" } })).toBeUndefined();
});

it("offers no pattern that the server could not take", () => {
  expect(leavesOf({ "a.b": 1 })).toBeUndefined();
  expect(leavesOf({})).toBeUndefined();
  expect(leavesOf(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, i])))).toBeUndefined();
  expect(leavesOf({ deep: { "a.b": 1 } })?.map((l) => l.path)).toEqual(["deep"]);
  expect(leavesOf({ pin: "[redacted]" })?.[0]?.checks).toEqual(["any"]);
});
