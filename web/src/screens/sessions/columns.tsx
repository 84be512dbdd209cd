import { AgentText } from "../../ui/AgentText";
import { IdChip } from "../../ui/CopyButton";
import { count, duration, money } from "../../ui/format";
import { Time } from "../../ui/Time";
import { TraceStatus } from "../../ui/TraceStatus";
import type { Column } from "../../ui/table/Table";
import { words } from "../../words/en";
import type { Session } from "./queries";

const w = words.sessions.columns;

export const tokensOf = (s: Session) => Number(s.totalInputTokens) + Number(s.totalOutputTokens);
export const lastedOf = (s: Session) => duration(Math.max(0, Date.parse(s.lastActivityAt) - Date.parse(s.startedAt)));

/** columns are all that a list of sessions can show. */
export const columns: Column<Session>[] = [
  { id: "activity", head: w.activity, width: "96px", always: true, cell: (s) => <Time at={s.lastActivityAt} /> },
  { id: "status", head: w.status, width: "112px", cell: (s) => <TraceStatus status={s.status} /> },
  {
    id: "agent",
    head: w.agent,
    width: "minmax(140px, 2fr)",
    always: true,
    cell: (s) => <AgentText text={s.agentId || "–"} line />,
  },
  { id: "product", head: w.product, width: "minmax(96px, 1fr)", cell: (s) => <AgentText text={s.product} line /> },
  { id: "traces", head: w.traces, width: "72px", number: true, cell: (s) => count(Number(s.traceCount)) },
  { id: "lasted", head: w.lasted, width: "104px", number: true, cell: lastedOf },
  { id: "tokens", head: w.tokens, width: "88px", number: true, cell: (s) => count(tokensOf(s)) },
  { id: "cost", head: w.cost, width: "80px", number: true, cell: (s) => money(Number(s.totalCostUsd)) },
  {
    id: "started",
    head: w.started,
    width: "180px",
    extra: true,
    cell: (s) => <Time at={s.startedAt} form="absolute" />,
  },
  { id: "user", head: w.user, width: "150px", extra: true, cell: (s) => (s.userId ? <IdChip id={s.userId} /> : "–") },
  { id: "id", head: w.id, width: "150px", cell: (s) => <IdChip id={s.id} /> },
];

/** Card is a session on a phone. */
export function Card({ session: s }: { session: Session }) {
  return (
    <div className="stack tight">
      <div className="row">
        <TraceStatus status={s.status} />
        <span className="grow small faint">
          <Time at={s.lastActivityAt} />
        </span>
      </div>
      <AgentText text={s.agentId || s.id} line />
      <span className="small muted">
        {words.sessions.traces(Number(s.traceCount))} · {lastedOf(s)} · {money(Number(s.totalCostUsd))}
      </span>
    </div>
  );
}
