import { expect, it, vi } from "vitest";
import {
  onDropped,
  oneOf,
  only,
  parseSearch,
  rangeFields,
  search,
  severalOf,
  stringifySearch,
  text,
  whole,
} from "./search";

it("writes flat text that people can read", () => {
  expect(
    stringifySearch({ decision: ["deny", "hold"], tool: "bank.send_money", none: undefined, empty: "", n: 3 }),
  ).toBe("?decision=deny,hold&tool=bank.send_money&n=3");
  expect(stringifySearch({})).toBe("");
});

it("reads what it wrote", () => {
  const value = { q: "a&b=c d,é", from: "2026-11-09T12:00:00Z" };
  expect(parseSearch(stringifySearch(value))).toEqual(value);
});

it("says what the first address had as soon as somebody listens", () => {
  search({ status: oneOf("ok") })({ status: "evil" });
  search({ status: oneOf("ok") })({ status: "evil" });
  const dropped = vi.fn();
  onDropped(dropped);
  expect(dropped.mock.calls).toEqual([[["status"]]]);
});

it("drops what is not known, and says so", () => {
  const dropped = vi.fn();
  onDropped(dropped);
  const validate = search({
    ...rangeFields,
    status: oneOf("ok", "denied"),
    decision: severalOf("deny", "hold"),
    q: text(5),
    span: whole,
  });
  expect(
    validate({
      status: "evil",
      decision: "deny,evil",
      q: "toolong",
      span: "7",
      range: "7d",
      from: "x",
      other: "kept out",
    }),
  ).toEqual({ decision: ["deny"], span: 7, range: "7d" });
  expect(dropped).toHaveBeenCalledWith(["from", "status", "q"]);
});

it("takes values that are lists already", () => {
  expect(search({ decision: severalOf("deny", "hold") })({ decision: ["hold"] })).toEqual({ decision: ["hold"] });
});

it("keeps only what a screen knows, for routes refuse the rest", () => {
  const known = { tool: text(50), status: oneOf("ok") };
  expect(only(known, { tool: "pay", org: "o", other: 1 } as object)).toEqual({ tool: "pay" });
});
