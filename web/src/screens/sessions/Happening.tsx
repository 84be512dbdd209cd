import { Link } from "@tanstack/react-router";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, StatusBadge, VerdictBadge } from "../../ui/Badge";
import { duration, money } from "../../ui/format";
import { TraceStatus } from "../../ui/TraceStatus";
import { words } from "../../words/en";
import type { Happened } from "./merge";
import type { Entry, Trace } from "./queries";

const w = words.sessions;

/** Happening is a trace or an entry of the log on one line. */
export function Happening({ moment }: { moment: Happened }) {
  return moment.is === "trace" ? <OfTrace trace={moment.trace} /> : <OfEntry entry={moment.entry} />;
}

function OfTrace({ trace: t }: { trace: Trace }) {
  return (
    <div className="happening">
      <TraceStatus status={t.status} />
      <Link className="happening-name" to="/traces/$id" params={{ id: t.id }}>
        <AgentText text={t.name} line />
      </Link>
      <span className="small muted nowrap">
        {t.durationMs !== null && `${duration(Number(t.durationMs))} · `}
        {words.traces.spans(Number(t.spanCount))} · {money(Number(t.totalCostUsd))}
      </span>
    </div>
  );
}

function OfEntry({ entry: e }: { entry: Entry }) {
  const index = Number(e.index);
  return (
    <div className="happening">
      {e.decision ? <VerdictBadge verdict={e.decision} index={index} /> : <StatusBadge word={w.executed} />}
      <span className="happening-name row">
        {e.server && e.server !== "local" && (
          <span className="muted">
            <AgentText text={e.server} line />
          </span>
        )}
        <AgentText text={e.tool ?? e.action} line />
      </span>
      <ProofLink index={index} />
    </div>
  );
}
