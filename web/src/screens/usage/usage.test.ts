// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { Metric } from "../../app/series";
import { seriesOf } from "./Charts";

const metric = (values: Record<string, number>): Metric => ({
  buckets: [0],
  values: new Map(Object.entries(values).map(([name, n]) => [name, [n]])),
  unfinished: false,
  bucket: "day",
});

it("gives a name the colour that it has in the other chart", () => {
  const cost = metric({ opus: 90, sonnet: 30 });
  const tokens = metric({ house: 500, sonnet: 900, opus: 100 });
  const colours = (all: { name: string; color: string }[]) => all.map((s) => `${s.name} ${s.color}`);
  expect(colours(seriesOf(cost))).toEqual(["opus chart-1", "sonnet chart-2"]);
  expect(colours(seriesOf(tokens, cost))).toEqual(["opus chart-1", "sonnet chart-2", "house chart-3"]);
});
