import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useOrg } from "../../app/org";
import { type Metric, seriesQuery } from "../../app/series";
import type { Lane } from "../../ui/chart/lanes";
import { TimeChart } from "../../ui/chart/TimeChart";
import { duration, money, shortCount } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import type { Bounds } from "../../ui/range";
import { Skeleton } from "../../ui/states";
import { words } from "../../words/en";

const w = words.overview;

/** Traffic draws what ran over time: tokens by kind, cost, how long it took, what failed. */
export function Traffic({ bounds }: { bounds: Bounds }) {
  return (
    <div className="traffic">
      <Tokens bounds={bounds} />
      <Cost bounds={bounds} />
      <Latency bounds={bounds} />
      <Errors bounds={bounds} />
    </div>
  );
}

const seriesOf = (metric: Metric, names: readonly (readonly [string, string, string])[]) =>
  names.map(([key, name, color]) => ({
    name,
    color,
    values: metric.values.get(key) ?? metric.buckets.map(() => 0),
  }));

const kinds = [
  ["input", w.kinds.input, "chart-1"],
  ["output", w.kinds.output, "chart-2"],
  ["cacheRead", w.kinds.cacheRead, "chart-3"],
  ["cacheWrite", w.kinds.cacheWrite, "chart-4"],
] as const;

function Tokens({ bounds }: { bounds: Bounds }) {
  const query = useQuery(seriesQuery(useOrg().id, { metric: "tokens", bounds }));
  const make = (m: Metric): Lane => ({ name: w.tokensByKind, kind: "bars", series: seriesOf(m, kinds) });
  return <Card query={query} make={make} format={shortCount} />;
}

function Cost({ bounds }: { bounds: Bounds }) {
  const query = useQuery(seriesQuery(useOrg().id, { metric: "cost", bounds }));
  const make = (m: Metric): Lane => ({
    name: w.costOverTime,
    kind: "bars",
    series: seriesOf(m, [["cost", w.cost, "chart-1"]]),
  });
  return <Card query={query} make={make} format={money} />;
}

function Latency({ bounds }: { bounds: Bounds }) {
  const org = useOrg().id;
  const median = useQuery(seriesQuery(org, { metric: "p50", bounds }));
  const slow = useQuery(seriesQuery(org, { metric: "p95", bounds }));
  const make = (m: Metric): Lane => ({
    name: w.latency,
    kind: "line",
    series: [
      ...seriesOf(m, [["p50", w.median, "chart-1"]]),
      ...(slow.data ? seriesOf(slow.data, [["p95", w.slow, "chart-2"]]) : []),
    ],
  });
  return <Card query={median} make={make} format={duration} also={slow.data} />;
}

function Errors({ bounds }: { bounds: Bounds }) {
  const query = useQuery(seriesQuery(useOrg().id, { metric: "errors", bounds }));
  const make = (m: Metric): Lane => ({
    name: w.errorsOverTime,
    kind: "bars",
    series: seriesOf(m, [["errors", w.errors, "chart-6"]]),
  });
  return <Card query={query} make={make} format={shortCount} />;
}

interface CardProps {
  query: { data: Metric | undefined; error: unknown; refetch: () => unknown };
  make: (metric: Metric) => Lane;
  format: (n: number) => string;
  /** What the lane shows beside the query's own. */
  also?: Metric | undefined;
}

function Card({ query, make, format, also }: CardProps) {
  return (
    <section className="card">
      <Loaded query={query} skeleton={<Skeleton height={168} />}>
        {(metric) => <Chart metric={metric} make={make} format={format} also={also} />}
      </Loaded>
    </section>
  );
}

function Chart({ metric, make, format, also }: Omit<CardProps, "query"> & { metric: Metric }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: how a lane is made never changes, what it is made of does
  const lane = useMemo(() => make(metric), [metric, also]);
  return <TimeChart lane={lane} buckets={metric.buckets} unfinished={metric.unfinished} height={140} format={format} />;
}
