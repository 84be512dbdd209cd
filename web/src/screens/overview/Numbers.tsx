import { useQuery } from "@tanstack/react-query";
import { OctagonX } from "lucide-react";
import type { Body } from "../../api/client";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { type Metric, seriesQuery, totalOf } from "../../app/series";
import { verdicts } from "../../ui/Badge";
import { count, duration, money, percent, shortCount } from "../../ui/format";
import type { Bounds } from "../../ui/range";
import { ErrorBanner, ErrorPanel } from "../../ui/states";
import { Tile } from "../../ui/Tile";
import { words } from "../../words/en";
import { beforeQuery, summaryQuery } from "./queries";

const w = words.overview;

/** rangeOf is bounds as they stand in the address of a list. */
export const rangeOf = (bounds: Bounds) => ({ from: bounds.from, to: bounds.until });

/** Numbers are the figures of a time; each opens the list that it counts. */
export function Numbers({ bounds }: { bounds: Bounds }) {
  const org = useOrg();
  const summary = useQuery(summaryQuery(org.id, bounds));
  const decisions = useQuery(seriesQuery(org.id, { metric: "decisions", bounds }));
  const error = summary.error ?? decisions.error;
  const retry = () => void Promise.all([summary.refetch(), decisions.refetch()]);
  if (error && !summary.data && !decisions.data) return <ErrorPanel error={error} retry={retry} />;
  return (
    <>
      {error && <ErrorBanner error={error} retry={retry} />}
      <div className="tiles overview-tiles">
        <Decided metric={decisions.data} bounds={bounds} />
        <Spent summary={summary.data} bounds={bounds} />
        <Ran summary={summary.data} bounds={bounds} />
      </div>
    </>
  );
}

type Summary = Body<"SummaryBody">;

function Decided({ metric, bounds }: { metric: Metric | undefined; bounds: Bounds }) {
  const all = metric ? verdicts.reduce((sum, v) => sum + totalOf(metric, v), 0) : 0;
  const of = (verdict: string) => (metric ? totalOf(metric, verdict) : 0);
  const range = rangeOf(bounds);
  return (
    <>
      <Tile
        label={w.decisions}
        loading={!metric}
        value={shortCount(all)}
        note={w.waited(shortCount(of("hold") + of("ask")))}
        link={linkTo("/decisions", range)}
      />
      <Tile
        label={
          <>
            <OctagonX className="tile-denied" size={14} aria-hidden />
            {w.denied}
          </>
        }
        loading={!metric}
        value={shortCount(of("deny"))}
        note={w.shareOfDecisions(percent(of("deny"), all))}
        link={linkTo("/decisions", { ...range, decision: "deny" })}
      />
    </>
  );
}

function Spent({ summary: s, bounds }: { summary: Summary | undefined; bounds: Bounds }) {
  const org = useOrg();
  const before = useQuery(beforeQuery(org.id, bounds)).data?.totalCostUsd;
  const tokens = s?.totalTokens;
  const all = tokens ? tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite : 0;
  const usage = linkTo("/usage", rangeOf(bounds));
  return (
    <>
      <Tile
        label={w.cost}
        loading={!s}
        value={s && money(s.totalCostUsd)}
        note={s && costNote(s, before)}
        link={usage}
      />
      <Tile
        label={w.tokens}
        loading={!s}
        value={<span title={count(all)}>{shortCount(all)}</span>}
        note={tokens && <TokenKinds tokens={tokens} />}
        link={usage}
      />
      <Tile label={w.perMinute} loading={!s} value={s && rate(s.tracesPerMinute)} note={w.perMinuteNote} />
    </>
  );
}

function costNote(s: Summary, before: number | undefined): string {
  // Beside almost nothing, a share says nothing.
  if (before !== undefined && before > s.totalCostUsd / 10) return w.change(percentChange(s.totalCostUsd, before));
  return s.totalTraces > 0 ? w.costOfTrace(money(s.totalCostUsd / s.totalTraces)) : "";
}

function TokenKinds({ tokens }: { tokens: Summary["totalTokens"] }) {
  const text = w.tokensNote(
    shortCount(tokens.input),
    shortCount(tokens.output),
    shortCount(tokens.cacheRead + tokens.cacheWrite),
  );
  return <span title={text}>{text}</span>;
}

const rate = (n: number) => new Intl.NumberFormat("en", { maximumFractionDigits: n < 10 ? 1 : 0 }).format(n);

const percentChange = (now: number, before: number) =>
  new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" }).format(
    now / before - 1,
  );

function Ran({ summary: s, bounds }: { summary: Summary | undefined; bounds: Bounds }) {
  const range = rangeOf(bounds);
  return (
    <>
      <Tile
        label={w.traces}
        loading={!s}
        value={s && <span title={count(s.totalTraces)}>{shortCount(s.totalTraces)}</span>}
        note={w.tracesNote}
        link={linkTo("/traces", range)}
      />
      <Tile
        label={w.sessions}
        loading={!s}
        value={s && <span title={count(s.totalSessions)}>{shortCount(s.totalSessions)}</span>}
        note={s && s.totalSessions > 0 ? w.tracesEach(rate(s.totalTraces / s.totalSessions)) : ""}
        link={linkTo("/sessions", range)}
      />
      <Tile
        label={w.errors}
        loading={!s}
        value={s && shortCount(s.totalErrors)}
        note={s && w.share(percent(s.totalErrors, s.totalTraces))}
        link={linkTo("/traces", { ...range, hasError: "true" })}
      />
      <Tile
        label={w.median}
        loading={!s}
        value={s && (s.totalTraces > 0 ? duration(s.p50DurationMs) : words.ui.unknown)}
        note={w.medianNote}
      />
      <Tile
        label={w.slow}
        loading={!s}
        value={s && (s.totalTraces > 0 ? duration(s.p95DurationMs) : words.ui.unknown)}
        note={w.slowNote}
        {...(s
          ? { link: linkTo("/traces", { ...range, minDurationMs: Math.max(1, Math.floor(s.p95DurationMs)) }) }
          : {})}
      />
    </>
  );
}
