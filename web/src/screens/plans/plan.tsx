import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { statusOf } from "../../api/errors";
import type { Json } from "../../api/exact";
import { KeyChip } from "../../app/KeyChip";
import { useMay, useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { chainQuery, type Node } from "../../app/trust/queries";
import { AgentText } from "../../ui/AgentText";
import { ProofLink } from "../../ui/Badge";
import { CopyButton, IdChip } from "../../ui/CopyButton";
import { JsonViewer } from "../../ui/json/JsonViewer";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { Delegations } from "./Delegations";
import { Drift } from "./Drift";
import { endOf, nodeOf } from "./ends";
import { PlanStatus } from "./PlanStatus";
import { type Plan, planQuery, type Report, reportQuery } from "./queries";
import { Steps } from "./Steps";
import { TreeSection } from "./Tree";
import "../../ui/proof/proof.css";
import "./plans.css";

const w = words.plans;
const route = getRouteApi("/frame/plans/$id");

/** PlanDetail is one plan: what was planned, beside what was decided and reported as run. */
export function PlanDetail() {
  const { id: planId } = route.useParams();
  const { step } = route.useSearch();
  const org = useOrg();
  const plan = useQuery(planQuery(org.id, planId));
  const hidden = useMay("payloads.read") !== undefined;
  const goal = plan.data?.goal || (hidden ? planId.slice(0, 8) : w.noGoal);
  usePage({ name: w.title, to: "/plans" }, { name: plan.data ? goal : "…" });
  return (
    <div className="screen">
      {!plan.data && <h1>{w.title}</h1>}
      <Loaded query={plan} skeleton={<SkeletonLines lines={10} />}>
        {(found) => <Shown plan={found} step={step} />}
      </Loaded>
    </div>
  );
}

function Shown({ plan, step }: { plan: Plan; step: number | undefined }) {
  return (
    <>
      <Head plan={plan} />
      {plan.status === "failed" && <p className="muted">{plan.endedBy === "kill" ? w.stoppedHelp : w.endedHelp}</p>}
      <Facts plan={plan} />
      <Beside plan={plan} step={step} />
      <section className="stack tight">
        <h2>{w.text}</h2>
        {plan.plan ? <JsonViewer label={w.text} value={plan.plan as Json} /> : <p className="muted">{w.noText}</p>}
      </section>
      <Delegations plan={plan} />
    </>
  );
}

/** usePlace is where a plan or delegation stands in its tree; undefined: nowhere, or it is not known yet. */
function usePlace(plan: Plan) {
  const tree = useQuery(chainQuery(useOrg().id, plan.id));
  return nodeOf(tree.data?.root, plan.id);
}

function Head({ plan }: { plan: Plan }) {
  const hidden = useMay("payloads.read") !== undefined;
  return (
    <div className="screen-head">
      <PlanStatus plan={plan} />
      <h1 className="grow entry-title">
        {plan.goal ? <AgentText text={plan.goal} fold={400} /> : hidden ? w.goalHidden : w.noGoal}
      </h1>
      {plan.auditIndex !== null && <ProofLink index={plan.auditIndex} />}
      <CopyButton text={() => location.href} label={words.audit.copyLink} />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Facts({ plan: p }: { plan: Plan }) {
  const end = endOf(p);
  return (
    <dl className="card facts plan-facts">
      <Fact name={w.declared}>
        <Time at={p.createdAt} form="absolute" />
      </Fact>
      <Fact name={end.word}>{end.at ? <Time at={end.at} form="absolute" /> : w.endedEarly}</Fact>
      {p.agentId && (
        <Fact name={w.agent}>
          <Link to="/decisions" search={{ agent: p.agentId }}>
            <AgentText text={p.agentId} short />
          </Link>
        </Fact>
      )}
      {(p.userEmail || p.userId) && (
        <Fact name={w.user}>
          <AgentText text={p.userEmail || p.userId} short />
        </Fact>
      )}
      {p.sessionId && (
        <Fact name={w.session}>
          <Link to="/decisions" search={{ session: p.sessionId }}>
            <AgentText text={p.sessionId} short />
          </Link>
        </Fact>
      )}
      {p.contextId && (
        <Fact name={w.context}>
          <AgentText text={p.contextId} short />
        </Fact>
      )}
      {p.source && (
        <Fact name={w.source}>
          <AgentText text={p.source} short />
        </Fact>
      )}
      <Under plan={p} />
      <Fact name={w.hash}>
        <IdChip id={p.planHash} what={w.hash} />
      </Fact>
      <Fact name={w.openDecisions}>
        <Link to="/decisions" search={{ plan: p.id }}>
          {w.decisions}
        </Link>
      </Fact>
    </dl>
  );
}

/** Under is what a plan came from: a delegation of another, or accepted under it. */
function Under({ plan: p }: { plan: Plan }) {
  const place = usePlace(p);
  if (!p.parentId) return null;
  const from = (
    <Link to="/plans/$id" params={{ id: p.parentId }}>
      {p.parentId}
    </Link>
  );
  if (!place?.parent) return <Fact name={w.parent}>{from}</Fact>;
  return (
    <>
      <Fact name={w.delegatedFrom}>{from}</Fact>
      <Fact name={w.delegatedBy}>
        <Holder node={place.parent} />
      </Fact>
      <Fact name={w.delegatedTo}>
        <Holder node={place.node} />
      </Fact>
    </>
  );
}

/** Holder is who holds a plan or delegation: the agent that it names, or else a key. */
function Holder({ node }: { node: Node }) {
  if (node.agentId) return <AgentText text={node.agentId} short />;
  return node.delegate ? <IdChip id={node.delegate} what={w.delegate} /> : <KeyChip id={node.keyId} what={w.key} />;
}

function Beside({ plan, step }: { plan: Plan; step: number | undefined }) {
  const org = useOrg();
  const hidden = useMay("payloads.read") !== undefined;
  const report = useQuery({ ...reportQuery(org.id, plan.id), enabled: !hidden });
  if (hidden) return <p className="notice">{w.notYours}</p>;
  // The text of an ended plan may be erased, and its steps with it.
  if (statusOf(report.error) === 404) return <p className="notice">{w.noText}</p>;
  return <Loaded query={report}>{(found) => <Reported plan={plan} report={found} step={step} />}</Loaded>;
}

function Reported({ plan, report, step }: { plan: Plan; report: Report; step: number | undefined }) {
  const chosen = Math.min(step ?? 0, Math.max(0, report.steps.length - 1));
  return (
    <>
      <Steps plan={plan} report={report} chosen={chosen} />
      <Drift planId={plan.id} report={report} />
      <TreeSection plan={plan} chosen={chosen} />
    </>
  );
}
