import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useMemo } from "react";
import { download } from "../../app/download";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { useList } from "../../app/useList";
import { useNew } from "../../live/useLive";
import { AgentText } from "../../ui/AgentText";
import { Button, Choice } from "../../ui/Button";
import { IdChip } from "../../ui/CopyButton";
import { clean } from "../../ui/clean";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Empty, ErrorBanner, ErrorPanel, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { Timeline } from "../../ui/Timeline";
import { TraceStatus } from "../../ui/TraceStatus";
import { words } from "../../words/en";
import { lastedOf, tokensOf } from "./columns";
import { Happening } from "./Happening";
import { type Happened, merge } from "./merge";
import { type Session as SessionBody, sessionEntriesQuery, sessionQuery, sessionTracesQuery } from "./queries";
import "./sessions.css";

const w = words.sessions;
const route = getRouteApi("/frame/sessions/$id");
const mostTraces = 50_000;

/** Session is one session: what happened in it, traces and decisions, the latest first. */
export function Session() {
  const { id } = route.useParams();
  const org = useOrg();
  const session = useQuery(sessionQuery(org.id, id));
  usePage({ name: w.title, to: "/sessions" }, { name: clean(id, 12) });
  return (
    <Loaded
      query={session}
      skeleton={
        <div className="screen">
          <SkeletonLines lines={12} />
        </div>
      }
    >
      {(found) => <Shown key={id} id={id} session={found} />}
    </Loaded>
  );
}

function NotFound() {
  const action = (
    <Link className="button" to="/sessions">
      {w.toList}
    </Link>
  );
  return (
    <div className="screen">
      <Empty title={w.notFound} action={action}>
        {w.notFoundHelp}
      </Empty>
    </div>
  );
}

interface ShownProps {
  id: string;
  /** Null: only decisions name it. */
  session: SessionBody | null;
}

function Shown({ id, session }: ShownProps) {
  const { show } = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  const happened = useHappened(org.id, id, session, show);
  const choose = (value: "all" | "traces" | "decisions") =>
    navigate({
      to: "/sessions/$id",
      params: { id },
      search: (old: object) => ({ ...old, show: value === "all" ? undefined : value }),
    });
  const { waiting, show: take } = useNew(
    (e) =>
      (e.kind === "trace" && !e.trace.grew && e.trace.sessionId === id) ||
      (e.kind === "decision" && e.decision.sessionId === id),
    happened.reload,
  );
  const nothing = !happened.loading && happened.moments.length === 0 && !happened.hasMore;
  if (nothing && session === null && happened.error === null) return <NotFound />;
  return (
    <div className="screen fill">
      <div className="screen-head">
        {session && <TraceStatus status={session.status} />}
        <h1 className="grow one-line">
          <AgentText text={session?.agentId || id} line />
        </h1>
        {waiting > 0 && (
          <Button className="new-pill" onClick={take}>
            {words.ui.newRows(waiting, w.what)} ↑
          </Button>
        )}
        <Choice
          label={w.show}
          hideLabel
          value={show ?? "all"}
          options={[
            ["all", w.shown.all],
            ["traces", w.shown.traces],
            ["decisions", w.shown.decisions],
          ]}
          onChange={choose}
        />
        {session && <ExportOne id={session.id} />}
      </div>
      {session && <Facts session={session} />}
      {happened.error !== null && !nothing && <ErrorBanner error={happened.error} retry={happened.retry} />}
      {Number(session?.traceCount ?? 0) > mostTraces && <p className="notice">{w.newest(count(mostTraces))}</p>}
      {happened.loading ? (
        <SkeletonLines lines={10} />
      ) : nothing && happened.error !== null ? (
        <ErrorPanel error={happened.error} retry={happened.retry} />
      ) : nothing ? (
        <Empty title={w.noTraces} />
      ) : (
        <Timeline
          label={w.timeline}
          moments={happened.moments}
          body={bodyOf}
          hasMore={happened.hasMore}
          loadMore={happened.loadMore}
          loadingMore={happened.loadingMore}
          error={happened.error}
        />
      )}
    </div>
  );
}

function ExportOne({ id }: { id: string }) {
  const org = useOrg();
  const path = `/organization/${org.id}/observability/sessions/${id}/export`;
  return (
    <Button onClick={() => void download(path, `session-${id}.json`)}>
      <Download size={14} aria-hidden />
      {w.exportOne}
    </Button>
  );
}

const bodyOf = (moment: Happened) => <Happening moment={moment} />;

function Facts({ session: s }: { session: SessionBody }) {
  return (
    <div className="session-facts muted">
      <span>
        <Time at={s.startedAt} form="absolute" />
      </span>
      <span>{lastedOf(s)}</span>
      <Link to="/traces" search={{ sessionId: s.id }}>
        {w.traces(Number(s.traceCount))}
      </Link>
      <span>{words.traces.tokens(count(tokensOf(s)))}</span>
      <span>{money(Number(s.totalCostUsd))}</span>
      <AgentText text={s.product} />
      <IdChip id={s.id} />
    </div>
  );
}

const none = { rows: [], hasMore: false };

// Traces and entries of the log, merged as far as both are known.
function useHappened(org: string, id: string, session: SessionBody | null, show: "traces" | "decisions" | undefined) {
  const started = session ?? { id, startedAt: "" };
  const traces = useList({ ...sessionTracesQuery(org, started), enabled: session !== null });
  const entries = useList(sessionEntriesQuery(org, id));
  const merged = useMemo(
    () =>
      merge(
        show === "decisions" ? none : { rows: traces.rows, hasMore: traces.table.hasMore },
        show === "traces" ? none : { rows: entries.rows, hasMore: entries.table.hasMore },
      ),
    [show, traces.rows, traces.table.hasMore, entries.rows, entries.table.hasMore],
  );
  const of = { traces, entries };
  return {
    moments: merged.moments,
    hasMore: merged.next.length > 0,
    loading: (session !== null && traces.table.loading) || entries.table.loading,
    loadingMore: merged.next.some((name) => of[name].table.loadingMore),
    error: traces.table.error ?? entries.table.error,
    loadMore: () => {
      for (const name of merged.next) of[name].table.loadMore();
    },
    retry: () => {
      for (const { table } of [traces, entries]) if (table.error) table.retry();
    },
    reload: () => {
      traces.reload();
      entries.reload();
    },
  };
}
