import { expect, it } from "vitest";
import { merge } from "./merge";
import type { Entry, Trace } from "./queries";

const at = (n: number) => new Date(n * 1000).toISOString();
const traces = (...times: number[]) => times.map((n) => ({ id: `${n}`, startTime: at(n), status: "ok" }) as Trace);
const entries = (...times: number[]) => times.map((n) => ({ index: n, time: at(n), decision: "deny" }) as Entry);
const run = (t: Trace[], tMore: boolean, e: Entry[], eMore: boolean) => {
  const { moments, next } = merge({ rows: t, hasMore: tMore }, { rows: e, hasMore: eMore });
  return [moments.map((m) => m.key).join(" "), next.join(" ")];
};

it("is one order, the newest first", () => {
  expect(run(traces(9, 5, 1), false, entries(7, 3), false)).toEqual(["t9 e7 t5 e3 t1", ""]);
  expect(run([], false, [], false)).toEqual(["", ""]);
});

it("holds back what something newer may still come before", () => {
  expect(run(traces(9, 8), true, entries(7, 3), false)).toEqual(["t9 t8", "traces"]);
  expect(run(traces(9, 2), true, entries(7, 3), true)).toEqual(["t9 e7 e3", "entries"]);
  expect(run([], true, entries(7), false)).toEqual(["", "traces"]);
  expect(run(traces(5), true, entries(5), true)).toEqual(["t5 e5", "traces entries"]);
});
