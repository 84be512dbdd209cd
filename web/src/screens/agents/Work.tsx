import { useQuery } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { useNew } from "../../live/useLive";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge, VerdictBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { duration, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { TraceStatus } from "../../ui/TraceStatus";
import { agents as w } from "../../words/agents";
import { words } from "../../words/en";
import { decisionsQuery, plansQuery, tracesQuery } from "./queries";

interface LinesProps {
  label: string;
  /** The whole list, of which these are the latest. */
  all: LinkProps;
  allWord: string;
  none: string;
  lines: ReactNode[];
}

function Lines({ label, all, allWord, none, lines }: LinesProps) {
  if (lines.length === 0) return <p className="muted">{none}</p>;
  return (
    <>
      <ul className="lines" aria-label={label}>
        {lines}
      </ul>
      <p>
        <Link {...all}>{allWord}</Link>
      </p>
    </>
  );
}

const When = ({ at }: { at: string }) => (
  <span className="small faint agent-when">
    <Time at={at} />
  </span>
);

/** Decisions are the latest that an agent asked for. New ones wait behind a pill. */
export function Decisions({ id }: { id: string }) {
  const org = useOrg();
  const decisions = useQuery(decisionsQuery(org.id, id));
  const { waiting, show } = useNew(
    (event) => event.kind === "decision" && event.decision.agentId === id,
    () => void decisions.refetch(),
  );
  return (
    <section className="card stack tight">
      {waiting > 0 && (
        <div>
          <Button className="new-pill" onClick={show}>
            {w.newDecisions(waiting)} ↑
          </Button>
        </div>
      )}
      <Loaded query={decisions}>
        {({ items }) => (
          <Lines
            label={w.tabs.decisions}
            all={linkTo("/decisions", { agent: id })}
            allWord={w.allDecisions}
            none={w.noDecisions}
            lines={items.map((e) => (
              <li key={e.index}>
                <When at={e.time} />
                <VerdictBadge verdict={e.decision ?? ""} index={e.index} />
                <span className="grow">
                  <ToolName server={e.server} tool={e.tool ?? "–"} />
                </span>
                {e.reason && (
                  <span className="grow small muted">
                    <AgentText text={e.reason} line />
                  </span>
                )}
                <ProofLink index={e.index} />
              </li>
            ))}
          />
        )}
      </Loaded>
    </section>
  );
}

/** Plans are the latest that an agent declared. */
export function Plans({ id }: { id: string }) {
  const org = useOrg();
  const plans = useQuery(plansQuery(org.id, id));
  return (
    <section className="card stack tight">
      <Loaded query={plans}>
        {({ items }) => (
          <Lines
            label={w.tabs.plans}
            all={linkTo("/plans", { agentId: id })}
            allWord={w.allPlans}
            none={w.noPlans}
            lines={items.map((p) => (
              <li key={p.id}>
                <When at={p.createdAt} />
                <StatusBadge word={words.plans.statuses[p.status] ?? p.status} error={p.status === "failed"} />
                <Link className="grow one-line" to="/plans/$id" params={{ id: p.id }}>
                  <AgentText text={p.goal || w.noGoal} short />
                </Link>
                <span className="small muted">{words.plans.stepCount(String(p.stepCount))}</span>
              </li>
            ))}
          />
        )}
      </Loaded>
    </section>
  );
}

/** Traces are the latest that an agent sent. */
export function Traces({ id }: { id: string }) {
  const org = useOrg();
  const traces = useQuery(tracesQuery(org.id, id));
  return (
    <section className="card stack tight">
      <Loaded query={traces}>
        {({ items }) => (
          <Lines
            label={w.tabs.traces}
            all={linkTo("/traces", { agentId: id })}
            allWord={w.allTraces}
            none={w.noTraces}
            lines={items.map((t) => (
              <li key={t.id}>
                <When at={t.startTime} />
                <TraceStatus status={t.status} />
                <Link className="grow one-line" to="/traces/$id" params={{ id: t.id }}>
                  <AgentText text={t.name || w.unnamed} short />
                </Link>
                <span className="small muted">
                  {duration(Number(t.durationMs))} · {money(Number(t.totalCostUsd))}
                </span>
              </li>
            ))}
          />
        )}
      </Loaded>
    </section>
  );
}
