import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { useLive } from "../../live/useLive";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Empty, ErrorBanner, SkeletonLines } from "../../ui/states";
import { buildTree, type Tree } from "../../ui/waterfall/tree";
import { type View, Waterfall } from "../../ui/waterfall/Waterfall";
import { words } from "../../words/en";
import { Head } from "./Head";
import { decisionsQuery, outlineQuery, type TraceDetail as Trace } from "./queries";
import { SpanPanel } from "./SpanPanel";
import { drawn, withDecisions } from "./spans";
import { Tools } from "./Tools";
import "./traces.css";

const w = words.traces;
const route = getRouteApi("/frame/traces/$id");

/** TraceDetail is one trace: its spans under each other, and what one of them did. */
export function TraceDetail() {
  const { id } = route.useParams();
  const org = useOrg();
  const client = useQueryClient();
  const outline = useQuery(outlineQuery(org.id, id));
  usePage({ name: w.title, to: "/traces" }, { name: outline.data?.name ?? id.slice(0, 8) });
  useLive((events) => {
    if (!events.some((e) => e.kind === "trace" && e.trace.id === outline.data?.id)) return;
    for (const query of [outlineQuery(org.id, id), decisionsQuery(org.id, id)])
      void client.invalidateQueries({ queryKey: query.queryKey });
  });
  return (
    <Loaded query={outline} skeleton={<Waiting />}>
      {(trace) => (trace === null ? <NotFound /> : <Shown trace={trace} />)}
    </Loaded>
  );
}

function Waiting() {
  return (
    <div className="screen">
      <SkeletonLines lines={14} />
    </div>
  );
}

function NotFound() {
  return (
    <div className="screen">
      <Empty
        title={w.notFound}
        action={
          <Link className="button" to="/traces">
            {w.toList}
          </Link>
        }
      >
        {w.notFoundHelp}
      </Empty>
    </div>
  );
}

const noKinds: never[] = [];

function Shown({ trace }: { trace: Trace }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  const decisions = useQuery(decisionsQuery(org.id, trace.id));
  const tree = useTree(trace, decisions.data?.items);
  const change = useCallback(
    (changed: object, replace = false) =>
      void navigate({
        to: "/traces/$id",
        params: { id: trace.id },
        search: (old: object) => ({ ...old, ...changed }),
        replace,
      }),
    [navigate, trace.id],
  );
  const view = useMemo(() => viewOf(tree, search.from, search.to), [tree, search.from, search.to]);
  const onView = useCallback(
    (v: View | undefined) => change({ from: v && offsetOf(tree, v.from), to: v && offsetOf(tree, v.to) }, true),
    [change, tree],
  );
  const onSelect = useCallback((span: string | undefined) => change({ span }), [change]);
  const onCritical = useCallback(() => change({ path: search.path ? undefined : "critical" }), [change, search.path]);
  const all = Number(trace.totals?.spanCount ?? trace.spans.length);
  return (
    <div className="screen fill">
      <Head trace={trace} />
      <Tools trace={trace} search={search} onChange={change} onCritical={onCritical} />
      {all > trace.spans.length && <p className="notice">{w.cut(count(trace.spans.length), count(all))}</p>}
      {decisions.error && <ErrorBanner error={decisions.error} retry={() => void decisions.refetch()} />}
      {decisions.data?.cut && <p className="notice">{w.decisionsCut(count(decisions.data.items.length))}</p>}
      <div className="trace-body">
        {tree.nodes.length === 0 ? (
          <Empty title={w.noSpans} />
        ) : (
          <Waterfall
            label={w.waterfall}
            tree={tree}
            find={search.q ?? ""}
            kinds={search.kind ?? noKinds}
            critical={search.path === "critical"}
            onCritical={onCritical}
            view={view}
            onView={onView}
            selected={search.span}
            onSelect={onSelect}
          />
        )}
        <SpanPanel
          key={search.span ?? ""}
          trace={trace}
          selected={search.span}
          decisions={decisions.data?.items ?? noKinds}
          onSelect={onSelect}
        />
      </div>
    </div>
  );
}

function useTree(trace: Trace, decisions: Parameters<typeof withDecisions>[2] | undefined): Tree {
  return useMemo(() => {
    const tools = new Map(trace.spans.flatMap((s) => (s.facts?.toolName ? [[s.id, s.facts.toolName] as const] : [])));
    return buildTree(withDecisions(trace.spans.map(drawn), tools, decisions ?? []));
  }, [trace.spans, decisions]);
}

// The address has offsets in milliseconds, so that it stays short.
const offsetOf = (tree: Tree, at: number) => Math.max(0, Math.round((at - tree.start) * 1000) / 1000);

function viewOf(tree: Tree, from: number | undefined, to: number | undefined): View | undefined {
  if (from === undefined || to === undefined || to <= from) return undefined;
  const end = Math.min(tree.end, tree.start + to);
  return tree.start + from >= end ? undefined : { from: tree.start + from, to: end };
}
