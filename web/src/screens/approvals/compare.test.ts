import { expect, it } from "vitest";
import { Exact, type Json, parseExact } from "../../api/exact";
import { changedNames, compare, isRedacted, same } from "./compare";
import { objectOf } from "./EditDialog";
import type { Approval, Plan, Shown } from "./queries";

const call = (given: Json, more: object = {}) => ({ arguments: given, ...more }) as unknown as Approval;
const plan = (...fixed: Record<string, string>[]) =>
  ({
    steps: fixed.map((f, step) => ({ step, fixed: Object.entries(f).map(([name, value]) => ({ name, value })) })),
  }) as unknown as Plan;
const steps = (...indexes: number[]) => indexes.map((index) => ({ index })) as unknown as Shown["planSteps"];

it("says of each argument whether the plan gives it, and what", () => {
  const { rows, step } = compare(
    call({ to: "mallory", amount: 5, note: "x", pin: "[redacted]" }),
    plan({ to: '"landlord"', amount: "5.0", pin: '"[redacted]"', day: '"1 May"' }),
    steps(0),
  );
  expect(step).toBe(0);
  expect(rows.map((r) => [r.name, r.plan])).toEqual([
    ["to", "differs"],
    ["amount", "same"],
    ["note", "open"],
    ["pin", "hidden"],
    ["day", "differs"],
  ]);
  expect(rows[0]?.planned).toBe("landlord");
  expect(rows[4]?.value).toBeUndefined();
});

it("compares with the step that fits best, and only with steps of this tool", () => {
  const three = plan({ to: '"ada"' }, { to: '"bob"' }, { to: '"eve"' });
  expect(compare(call({ to: "bob" }), three, steps(0, 1)).step).toBe(1);
  expect(compare(call({ to: "eve" }), three, steps(0, 1)).rows[0]?.plan).toBe("differs");
});

it("says nothing about a plan that there is not", () => {
  const { rows, step } = compare(call({ to: "bob" }), undefined, steps());
  expect(step).toBeUndefined();
  expect(rows[0]?.plan).toBeUndefined();
  expect(compare(call(null), undefined, steps()).rows).toEqual([]);
});

it("puts doubts beside their arguments, and keeps those about others", () => {
  const grounding = [
    { argument: "to", origin: "text", of: "web.fetch", ordered: true },
    { argument: "deep.member", origin: "nowhere" },
  ];
  const { rows, others } = compare(call({ to: "m", a: 1 }, { grounding }), undefined, steps());
  expect(rows.map((r) => r.doubts.length)).toEqual([1, 0]);
  expect(others.map((d) => d.argument)).toEqual(["deep.member"]);
});

it("compares values as JSON does, and large numbers by their digits", () => {
  expect(same(parseExact("1.0"), 1)).toBe(true);
  expect(same(new Exact("12345678901234567890"), new Exact("12345678901234567891"))).toBe(false);
  expect(same(parseExact('{"a":[1,{"b":null}]}'), parseExact('{"a":[1.0,{"b":null}]}'))).toBe(true);
  expect(same({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(same("1", 1)).toBe(false);
  expect(same([], {})).toBe(false);
  expect(same({ toString: 1 }, {})).toBe(false);
});

it("finds what was redacted, however deep", () => {
  expect(isRedacted({ a: [{ b: "x [redacted] y" }] })).toBe(true);
  expect(isRedacted({ a: [new Exact("1.50"), null, true] })).toBe(false);
});

it("names what an approver changed", () => {
  expect(changedNames({ a: 1, b: 2, c: 3 }, { a: 1, b: 3, d: 4 })).toEqual(["b", "c", "d"]);
});

it("takes only objects as arguments, with their numbers as they were typed", () => {
  expect(objectOf("[1]")).toBeUndefined();
  expect(objectOf("1.50")).toBeUndefined();
  expect(objectOf("{a:1}")).toBeUndefined();
  expect(String(objectOf('{"n":12345678901234567890}')?.n)).toBe("12345678901234567890");
});
