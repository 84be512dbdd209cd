import { expect, it } from "vitest";
import { hasLast, isSame, judgeLast } from "./queries";

it("judges the last allow by its place in the log", () => {
  expect(judgeLast(10, undefined, true)).toEqual({ is: "none" });
  expect(judgeLast(10, 9, true)).toEqual({ is: "before", index: 9 });
  expect(judgeLast(10, 11, true)).toEqual({ is: "behind", index: 11 });
  expect(judgeLast(10, 11, false)).toEqual({ is: "lifted" });
});

it("knows a stop by what is stopped", () => {
  expect(isSame({ scope: "agent", subject: "a" }, { scope: "agent", subject: "a" })).toBe(true);
  expect(isSame({ scope: "agent", subject: "a" }, { scope: "server", subject: "a" })).toBe(false);
  expect(isSame({ scope: "organization", subject: "" }, { scope: "organization", subject: "" })).toBe(true);
});

it("does not claim a last allow where the log cannot be narrowed", () => {
  expect(hasLast({ scope: "tool", subject: "bank.pay" })).toBe(false);
  expect(hasLast({ scope: "agent", subject: "a" })).toBe(true);
});
