// Metrics over time, as charts take them.
import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../api/client";
import { type Bounds, lengthOf } from "../ui/range";

type Query = Body<"SeriesBody">;

export interface SeriesQuery {
  metric: Query["metric"];
  by?: Exclude<Query["by"], "">;
  bounds: Bounds;
}

/** Metric is a metric over time: when buckets begin, in seconds, and the values of each name. */
export interface Metric {
  buckets: number[];
  values: Map<string, number[]>;
  /** Whether the last bucket still grows. */
  unfinished: boolean;
  bucket: Query["bucket"];
}

const day = 86_400_000;

/** bucketOf is how long the buckets of a span of time are: hours up to eight days. */
export const bucketOf = (bounds: Bounds, now: number) => (lengthOf(bounds, now) <= 8 * day ? "hour" : "day");

/** refreshEvery is how often what goes on is read again. */
export const refreshEvery = (bounds: Bounds) => (bounds.until ? false : 30_000);

/** seriesQuery reads a metric over time. */
export const seriesQuery = (org: string, { metric, by, bounds }: SeriesQuery) =>
  queryOptions({
    queryKey: [org, "series", metric, by, bounds],
    queryFn: async ({ signal }) => {
      const bucket = bucketOf(bounds, Date.now());
      const query = { metric, ...(by ? { by } : {}), bucket, ...bounds } as const;
      const found = await api.get("/organization/{orgId}/observability/analytics/series", {
        params: { path: { orgId: org }, query },
        signal,
      });
      return metricOf(found);
    },
    refetchInterval: refreshEvery(bounds),
  });

/** metricOf turns buckets of values into values over buckets. Sums may be exact: charts need doubles. */
export function metricOf(series: Pick<Query, "metric" | "buckets" | "bucket">): Metric {
  const values = new Map<string, number[]>();
  // Without a trace there is no duration, but there are no tokens.
  const missing = series.metric === "p50" || series.metric === "p95" ? Number.NaN : 0;
  series.buckets.forEach(({ values: found }, i) => {
    for (const [name, value] of Object.entries(found)) {
      const list = values.get(name) ?? new Array<number>(series.buckets.length).fill(missing);
      list[i] = Number(value);
      values.set(name, list);
    }
  });
  return {
    buckets: series.buckets.map((b) => Date.parse(b.at) / 1000),
    values,
    unfinished: series.buckets.at(-1)?.complete === false,
    bucket: series.bucket,
  };
}

/** totalOf is the sum of a name's values. */
export const totalOf = (metric: Metric, name: string) => (metric.values.get(name) ?? []).reduce((a, b) => a + b, 0);
