import { Link, useRouter } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { linkTo } from "../../app/link";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, VerdictBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Time } from "../../ui/Time";
import { deciders, ruleName } from "../../words/deciders";
import { words } from "../../words/en";
import type { Decision } from "./queries";
import { Fact } from "./SpanFacts";

const w = words.span;

/** DecisionFacts is a decision as the log has it, each part one click away. */
export function DecisionFacts({ decision: d }: { decision: Decision }) {
  const index = Number(d.index);
  const own = deciders.names[d.policyId];
  return (
    <dl className="facts decision-facts">
      <Fact name={w.verdict}>
        <span className="row wrap">
          <VerdictBadge verdict={d.decision} index={index} />
          <ProofLink index={index} />
        </span>
      </Fact>
      <Fact name={w.reason}>{d.reason && <AgentText text={d.reason} />}</Fact>
      <Fact name={w.began}>
        <Time at={d.at} form="absolute" />
      </Fact>
      <Fact name={w.rule}>
        <Place path="/decisions" search={{ policy: d.policyId, ...(d.ruleId ? { rule: d.ruleId } : {}) }}>
          {(d.ruleId && ruleName(d.policyId, d.ruleId)) || (
            <AgentText text={d.ruleId || d.policyName || (own ?? d.policyId)} />
          )}
        </Place>
      </Fact>
      <Fact name={w.policy}>
        {/* What decides beside policies has no page. */}
        {d.ruleId &&
          (own ?? (
            <Place path="/policies/$id" id={d.policyId}>
              <AgentText text={d.policyName || d.policyId} />
            </Place>
          ))}
      </Fact>
      <Fact name={w.plan}>
        {d.planId && (
          <span className="row wrap">
            <Place path="/plans/$id" id={d.planId} search={d.step ? { step: d.step } : {}}>
              {d.step ? <AgentText text={w.step(d.step)} /> : w.plan}
            </Place>
            <IdChip id={d.planId} />
          </span>
        )}
      </Fact>
      <Fact name={w.approval}>
        {d.approvalId && (
          <span className="row wrap">
            <Place path="/approvals/$id" id={d.approvalId}>
              {w.approval}
            </Place>
            <IdChip id={d.approvalId} />
          </span>
        )}
      </Fact>
      <Fact name={w.agent}>
        {d.agentId && (
          <Place path="/agents/$id" id={d.agentId}>
            <AgentText text={d.agentId} />
          </Place>
        )}
      </Fact>
    </dl>
  );
}

interface PlaceProps {
  path: string;
  id?: string;
  search?: Record<string, unknown>;
  children: ReactNode;
}

// A link to a screen, where there is one.
function Place({ path, id, search, children }: PlaceProps) {
  const router = useRouter();
  const exists = Object.values(router.routesById).some((r) => (r.fullPath as string).replace(/\/$/, "") === path);
  if (!exists) return <>{children}</>;
  return (
    <Link {...linkTo(path, search)} {...(id ? { params: { id } as never } : {})}>
      {children}
    </Link>
  );
}
