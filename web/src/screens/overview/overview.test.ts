// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { Metric } from "../../app/series";
import { day } from "../../ui/format";
import { nothingBefore, sinceFirst } from "./Decisions";

const hours = (n: number, at: number): Metric => ({
  buckets: Array.from({ length: n }, (_, i) => i * 3600),
  values: new Map([["deny", Array.from({ length: n }, (_, i) => (i === at ? 3 : 0))]]),
  unfinished: true,
  bucket: "hour",
});

it("leaves out an empty beginning, and keeps a day and all that was decided", () => {
  const late = sinceFirst(hours(168, 167));
  expect([late.buckets.length, late.buckets[0], late.values.get("deny")?.at(-1)]).toEqual([24, 144 * 3600, 3]);
  const earlier = sinceFirst(hours(168, 100));
  expect([earlier.buckets.length, earlier.values.get("deny")?.[0]]).toEqual([68, 3]);
});

it("leaves what is busy, short or empty as it is", () => {
  for (const metric of [hours(168, 40), hours(24, 23), hours(168, -1)])
    expect(sinceFirst(metric).buckets).toEqual(metric.buckets);
});

it("names the day of the first decision, not that on which the chart begins", () => {
  const late = sinceFirst(hours(180, 179));
  expect(late.buckets[0]).toBe(156 * 3600);
  expect(nothingBefore(late)).toBe(`Nothing was decided before ${day(179 * 3_600_000)}.`);
});
