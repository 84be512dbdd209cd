import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { type Metric, seriesQuery } from "../../app/series";
import { type Verdict, verdicts } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import type { Lane } from "../../ui/chart/lanes";
import { TimeChart } from "../../ui/chart/TimeChart";
import { absolute, day } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import type { Bounds, RangeSearch } from "../../ui/range";
import { Skeleton } from "../../ui/states";
import { words } from "../../words/en";

const w = words.overview;

interface DecisionsProps {
  bounds: Bounds;
  range: RangeSearch;
  onRange: (range: RangeSearch) => void;
}

/** Decisions draws verdicts over time: what was allowed apart from the rest, which would vanish under it. */
export function Decisions({ bounds, range, onRange }: DecisionsProps) {
  const org = useOrg();
  const query = useQuery(seriesQuery(org.id, { metric: "decisions", bounds }));
  return (
    <section className="card stack tight" aria-labelledby="decisions">
      <h2 id="decisions">{w.decisions}</h2>
      <Loaded query={query} skeleton={<Skeleton height={312} />}>
        {(metric) => <Lanes metric={metric} key={`${range.range} ${range.from} ${range.to}`} onRange={onRange} />}
      </Loaded>
    </section>
  );
}

const stopped: Verdict[] = ["ask", "hold", "deny"];

const laneOf = (metric: Metric, name: string, of: Verdict[]): Lane => ({
  name,
  kind: "bars",
  series: of.map((v) => ({
    name: words.verdicts[v],
    color: `${v}-solid`,
    values: metric.values.get(v) ?? metric.buckets.map(() => 0),
  })),
});

/** firstOf is the place of the first bucket in which something was decided; -1: there is none. */
export const firstOf = (metric: Metric) =>
  metric.buckets.findIndex((_, i) => verdicts.some((v) => (metric.values.get(v)?.[i] ?? 0) > 0));

/** sinceFirst leaves out the empty beginning of a time, if that is most of it: a day, at least, stays. */
export function sinceFirst(metric: Metric): Metric {
  const first = firstOf(metric);
  if (first < metric.buckets.length / 2) return metric;
  const from = Math.max(0, Math.min(first, metric.buckets.length - 24));
  const values = new Map([...metric.values].map(([name, all]) => [name, all.slice(from)]));
  return { ...metric, buckets: metric.buckets.slice(from), values };
}

/** nothingBefore names the day of the first decision: what is drawn may begin on the day before. */
export const nothingBefore = (metric: Metric) => w.nothingBefore(day((metric.buckets[firstOf(metric)] ?? 0) * 1000));

function Lanes({ metric: whole, onRange }: { metric: Metric; onRange: (range: RangeSearch) => void }) {
  const metric = useMemo(() => sinceFirst(whole), [whole]);
  const [chosen, setChosen] = useState<[number, number]>();
  const choose = useCallback((from: number, until: number) => setChosen([from, until]), []);
  const lanes = useMemo(
    () => [laneOf(metric, w.allowed, ["allow"]), laneOf(metric, w.stopped, stopped)] as const,
    [metric],
  );
  const common = { buckets: metric.buckets, unfinished: metric.unfinished, onSelect: choose };
  return (
    <>
      <TimeChart lane={lanes[0]} height={104} {...common} />
      <TimeChart lane={lanes[1]} height={124} {...common} />
      {chosen ? (
        <Chosen metric={metric} span={chosen} onRange={onRange} onClose={() => setChosen(undefined)} />
      ) : (
        <p className="small faint chosen">
          {metric.buckets.length < whole.buckets.length && `${nothingBefore(metric)} `}
          {w.dragHelp}
        </p>
      )}
    </>
  );
}

interface ChosenProps {
  metric: Metric;
  span: [number, number];
  onRange: (range: RangeSearch) => void;
  onClose: () => void;
}

function Chosen({ metric, span: [from, until], onRange, onClose }: ChosenProps) {
  const within = (verdict: string) =>
    (metric.values.get(verdict) ?? []).reduce((sum, n, i) => {
      const at = metric.buckets[i] ?? 0;
      return at >= from && at < until ? sum + n : sum;
    }, 0);
  const range = { from: new Date(from * 1000).toISOString(), to: new Date(until * 1000).toISOString() };
  const all = verdicts.reduce((sum, v) => sum + within(v), 0);
  return (
    <div className="row wrap chosen" role="status">
      <span className="small muted">{words.ui.between(absolute(from * 1000), absolute(until * 1000))}</span>
      <Link className="button primary" {...linkTo("/decisions", { ...range, decision: "deny" })}>
        {w.openDenials(within("deny"))}
      </Link>
      <Link className="button" {...linkTo("/decisions", range)}>
        {w.openDecisions(all)}
      </Link>
      <Button onClick={() => onRange({ range: undefined, ...range })}>{w.zoom}</Button>
      <Button look="quiet" onClick={onClose}>
        {words.ui.clear}
      </Button>
    </div>
  );
}
