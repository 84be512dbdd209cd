import { expect, it } from "vitest";
import { Exact } from "../api/exact";
import { bucketOf, metricOf, totalOf } from "./series";

const bucket = (at: string, values: Record<string, unknown>, complete = true) =>
  ({ at, values, complete }) as { at: string; values: Record<string, number>; complete: boolean };

it("gives every name a value in every bucket, as a double", () => {
  const metric = metricOf({
    metric: "tokens",
    bucket: "hour",
    buckets: [
      bucket("2026-11-09T10:00:00Z", { a: 1 }),
      bucket("2026-11-09T11:00:00Z", { b: new Exact("0.123456789012345678") }),
      bucket("2026-11-09T12:00:00Z", { a: 2 }, false),
    ],
  });
  expect(metric.buckets).toEqual([1794218400, 1794222000, 1794225600]);
  expect(metric.values.get("a")).toEqual([1, 0, 2]);
  expect(metric.values.get("b")).toEqual([0, 0.12345678901234568, 0]);
  expect(typeof metric.values.get("b")?.[1]).toBe("number");
  expect(metric.unfinished).toBe(true);
  expect(totalOf(metric, "a")).toBe(3);
  expect(totalOf(metric, "none")).toBe(0);
});

it("knows no duration where there was no trace", () => {
  const buckets = [bucket("2026-11-09T10:00:00Z", {}), bucket("2026-11-09T11:00:00Z", { p95: 20 })];
  expect(metricOf({ metric: "p95", bucket: "hour", buckets }).values.get("p95")).toEqual([Number.NaN, 20]);
});

it("counts in hours up to a week, then in days", () => {
  const now = Date.UTC(2026, 10, 9);
  expect(bucketOf({ from: "2026-11-02T00:00:00Z" }, now)).toBe("hour");
  expect(bucketOf({ from: "2026-10-02T00:00:00Z" }, now)).toBe("day");
  expect(bucketOf({ from: "2026-10-02T00:00:00Z", until: "2026-10-03T00:00:00Z" }, now)).toBe("hour");
});
