import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { type Metric, seriesQuery, totalOf } from "../../app/series";
import { Button } from "../../ui/Button";
import { atMostSix, type Lane, type Series } from "../../ui/chart/lanes";
import { TimeChart } from "../../ui/chart/TimeChart";
import { absolute, money, shortCount } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import type { Bounds, RangeSearch } from "../../ui/range";
import { Skeleton } from "../../ui/states";
import { words } from "../../words/en";
import { type Group, other } from "./queries";

const w = words.usage;

interface ChartsProps {
  by: Group;
  bounds: Bounds;
  onRange: (range: RangeSearch) => void;
}

/** Charts draw cost and tokens over time. Sessions are too many to draw: then it is the whole. */
export function Charts({ by, bounds, onRange }: ChartsProps) {
  const org = useOrg();
  const parts = by === "session" ? undefined : by;
  const cost = useQuery(seriesQuery(org.id, { metric: "cost", bounds, ...(parts ? { by: parts } : {}) }));
  const tokens = useQuery(seriesQuery(org.id, { metric: "tokens", bounds, ...(parts ? { by: parts } : {}) }));
  return (
    <div className="usage-charts">
      <section className="card stack tight">
        <Loaded query={cost} skeleton={<Skeleton height={240} />}>
          {(metric) => <Cost metric={metric} name={parts ? w.costOver(w.groups[by]) : w.costInAll} onRange={onRange} />}
        </Loaded>
      </section>
      <section className="card stack tight">
        <Loaded query={tokens} skeleton={<Skeleton height={240} />}>
          {(metric) => (
            <Tokens metric={metric} like={cost.data} name={parts ? w.tokensOver(w.groups[by]) : w.tokensInAll} />
          )}
        </Loaded>
      </section>
    </div>
  );
}

const kinds: Record<string, string> = { ...w.kinds, cost: w.cost };

const ranked = (metric: Metric) => [...metric.values.keys()].sort((a, b) => totalOf(metric, b) - totalOf(metric, a));

/**
 * seriesOf is the largest six of what a metric has, the largest first; what the server put together stays last.
 * What another metric has too keeps its place there, so that a name has one colour on a screen.
 */
export function seriesOf(metric: Metric, like: Metric = metric): Series[] {
  const names = [...new Set([...ranked(like), ...ranked(metric)])].filter((n) => metric.values.has(n));
  const ordered = [...names.filter((n) => n !== other), ...names.filter((n) => n === other)];
  const all = ordered.map((name, i) => ({
    name: name === other ? w.other : (kinds[name] ?? (name || w.unnamed)),
    color: name === other ? "text-3" : `chart-${Math.min(6, i + 1)}`,
    values: metric.values.get(name) ?? [],
  }));
  return atMostSix(all, w.other);
}

const laneOf = (metric: Metric, name: string, like?: Metric): Lane => ({
  name,
  kind: "bars",
  series: seriesOf(metric, like),
});

const sumOf = (metric: Metric) => [...metric.values.keys()].reduce((sum, name) => sum + totalOf(metric, name), 0);

function Tokens({ metric, like, name }: { metric: Metric; like: Metric | undefined; name: string }) {
  const lane = useMemo(() => laneOf(metric, name, like), [metric, name, like]);
  return (
    <TimeChart
      lane={lane}
      total={shortCount(sumOf(metric))}
      buckets={metric.buckets}
      unfinished={metric.unfinished}
      height={180}
      format={shortCount}
    />
  );
}

function Cost({ metric, name, onRange }: { metric: Metric; name: string; onRange: (range: RangeSearch) => void }) {
  const [chosen, setChosen] = useState<[number, number]>();
  const choose = useCallback((from: number, until: number) => setChosen([from, until]), []);
  const lane = useMemo(() => laneOf(metric, name), [metric, name]);
  return (
    <>
      <TimeChart
        lane={lane}
        total={money(sumOf(metric))}
        buckets={metric.buckets}
        unfinished={metric.unfinished}
        height={180}
        format={money}
        onSelect={choose}
      />
      {chosen ? (
        <Chosen metric={metric} span={chosen} onRange={onRange} onClose={() => setChosen(undefined)} />
      ) : (
        <p className="small faint chosen">{w.dragHelp}</p>
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
  const within = (values: number[]) =>
    values.reduce((sum, n, i) => {
      const at = metric.buckets[i] ?? 0;
      return at >= from && at < until ? sum + n : sum;
    }, 0);
  const usd = [...metric.values.values()].reduce((sum, values) => sum + within(values), 0);
  const range = { from: new Date(from * 1000).toISOString(), to: new Date(until * 1000).toISOString() };
  return (
    <div className="row wrap chosen" role="status">
      <span className="small muted">{words.ui.between(absolute(from * 1000), absolute(until * 1000))}</span>
      <Link className="button primary" {...linkTo("/traces", { ...range, minCostUsd: dear(usd) })}>
        {w.openDear}
      </Link>
      <Link className="button" {...linkTo("/traces", range)}>
        {w.openTraces(money(usd))}
      </Link>
      <Button onClick={() => onRange({ range: undefined, ...range })}>{w.zoom}</Button>
      <Button look="quiet" onClick={onClose}>
        {words.ui.clear}
      </Button>
    </div>
  );
}

/** dear is what a trace costs at least that makes a part of a sum worth looking at: a twentieth of it. */
export const dear = (usd: number) => Number((usd / 20).toPrecision(1));
