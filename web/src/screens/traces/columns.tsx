import { Link } from "@tanstack/react-router";
import { AgentText } from "../../ui/AgentText";
import { IdChip } from "../../ui/CopyButton";
import { count, duration, money } from "../../ui/format";
import { Time } from "../../ui/Time";
import { TraceStatus } from "../../ui/TraceStatus";
import type { Column } from "../../ui/table/Table";
import { words } from "../../words/en";
import type { Trace } from "./queries";

const w = words.traces.columns;

const tokensOf = (t: Trace) => Number(t.totalInputTokens) + Number(t.totalOutputTokens);
const tookOf = (t: Trace) => (t.durationMs === null ? "–" : duration(Number(t.durationMs)));

function SessionLink({ id }: { id: string | null }) {
  if (!id) return <>–</>;
  return (
    <Link to="/sessions/$id" params={{ id }} className="mono">
      {id.slice(0, 8)}
    </Link>
  );
}

/** columns are all that a list of traces can show. */
export const columns: Column<Trace>[] = [
  { id: "time", head: w.time, width: "80px", always: true, cell: (t) => <Time at={t.startTime} /> },
  { id: "status", head: w.status, width: "96px", cell: (t) => <TraceStatus status={t.status} /> },
  {
    id: "name",
    head: w.name,
    width: "minmax(160px, 3fr)",
    always: true,
    cell: (t) => <AgentText text={t.name} line />,
  },
  {
    id: "agent",
    head: w.agent,
    width: "minmax(96px, 1fr)",
    cell: (t) => <AgentText text={t.agentId || "–"} line />,
  },
  {
    id: "input",
    head: w.input,
    width: "minmax(160px, 2fr)",
    extra: true,
    cell: (t) => <AgentText text={t.inputPreview ?? "–"} line />,
  },
  {
    id: "output",
    head: w.output,
    width: "minmax(160px, 2fr)",
    extra: true,
    cell: (t) => <AgentText text={t.outputPreview ?? "–"} line />,
  },
  { id: "duration", head: w.duration, width: "88px", number: true, cell: tookOf },
  { id: "tokens", head: w.tokens, width: "80px", number: true, cell: (t) => count(tokensOf(t)) },
  { id: "cost", head: w.cost, width: "80px", number: true, cell: (t) => money(Number(t.totalCostUsd)) },
  { id: "spans", head: w.spans, width: "64px", number: true, cell: (t) => count(Number(t.spanCount)) },
  {
    id: "errors",
    head: w.errors,
    width: "120px",
    number: true,
    extra: true,
    cell: (t) => count(Number(t.errorCount)),
  },
  { id: "session", head: w.session, width: "88px", cell: (t) => <SessionLink id={t.sessionId} /> },
  {
    id: "user",
    head: w.user,
    width: "160px",
    extra: true,
    cell: (t) => (t.userId ? <IdChip id={t.userId} /> : "–"),
  },
  {
    id: "tags",
    head: w.tags,
    width: "minmax(120px, 1fr)",
    extra: true,
    cell: (t) => (
      <span className="row one-line">
        {t.tags.slice(0, 5).map((tag, i) => (
          <AgentText key={i} text={tag} line />
        ))}
      </span>
    ),
  },
  { id: "id", head: w.id, width: "160px", extra: true, cell: (t) => <IdChip id={t.id} /> },
];

/** Card is a trace on a phone. */
export function Card({ trace: t }: { trace: Trace }) {
  return (
    <div className="stack tight">
      <div className="row">
        <TraceStatus status={t.status} />
        <span className="grow small faint">
          <Time at={t.startTime} />
        </span>
      </div>
      <AgentText text={t.name} line />
      <span className="row small muted">
        <AgentText text={t.agentId || "–"} line />
        <span className="nowrap">
          {[
            t.durationMs != null && tookOf(t),
            Number(t.totalCostUsd) > 0 && money(Number(t.totalCostUsd)),
            words.traces.spans(Number(t.spanCount)),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </span>
    </div>
  );
}
