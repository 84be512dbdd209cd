import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { download } from "../../app/download";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { count, duration, money } from "../../ui/format";
import { Time } from "../../ui/Time";
import { TraceStatus } from "../../ui/TraceStatus";
import { words } from "../../words/en";
import type { TraceDetail } from "./queries";

const w = words.traces;

/** Head says what a trace was, took and cost. */
export function Head({ trace }: { trace: TraceDetail }) {
  const org = useOrg();
  const totals = trace.totals;
  const tokens = Number(totals?.totalInputTokens ?? 0) + Number(totals?.totalOutputTokens ?? 0);
  const file = () =>
    void download(`/organization/${org.id}/observability/traces/${trace.id}/export`, `trace-${trace.id}.json`);
  return (
    <>
      <div className="screen-head">
        <TraceStatus status={trace.status} />
        <h1 className="grow one-line">
          <AgentText text={trace.name} line />
        </h1>
        <CopyButton text={location.href} label={words.ui.copyLink} />
        <Button onClick={file}>
          <Download size={14} aria-hidden />
          {w.exportOne}
        </Button>
      </div>
      <div className="trace-facts muted">
        <Time at={trace.startTime} form="absolute" />
        {trace.durationMs !== null && <span>{duration(Number(trace.durationMs))}</span>}
        <span>{w.tokens(count(tokens))}</span>
        <span>{money(Number(totals?.totalCostUsd ?? 0))}</span>
        {trace.agentId && (
          <Link className="trace-agent" to="/traces" search={{ agentId: trace.agentId }}>
            <AgentText text={trace.agentId} line />
          </Link>
        )}
        {trace.sessionId && (
          <Link to="/sessions/$id" params={{ id: trace.sessionId }}>
            {words.sessions.name(trace.sessionId.slice(0, 8))}
          </Link>
        )}
      </div>
    </>
  );
}
