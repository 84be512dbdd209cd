import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { statusOf } from "../../api/errors";
import { KeyChip } from "../../app/KeyChip";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { ProofLink } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { Sentence, State } from "./parts";
import { type Finding, findingQuery } from "./queries";

const w = words.findings;
const route = getRouteApi("/frame/findings/$findingId");

/** FindingDetail is one finding: what does not fit together, what it means, and where the evidence is. */
export function FindingDetail() {
  const { findingId } = route.useParams();
  const org = useOrg();
  const finding = useQuery(findingQuery(org.id, findingId));
  const kind = finding.data?.kind;
  usePage({ name: w.title, to: "/findings" }, { name: kind ? (w.kinds[kind] ?? kind) : "…" });
  return (
    <div className="screen">
      {!finding.data && <h1>{w.title}</h1>}
      {statusOf(finding.error) === 404 ? (
        <NotHere />
      ) : (
        <Loaded query={finding} skeleton={<SkeletonLines lines={8} />}>
          {(found) => <Shown finding={found} />}
        </Loaded>
      )}
    </div>
  );
}

function NotHere() {
  return (
    <Empty
      title={w.notHere}
      action={
        <Link className="button" to="/findings">
          {w.toList}
        </Link>
      }
    >
      {w.notHereHelp}
    </Empty>
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

function Shown({ finding: f }: { finding: Finding }) {
  return (
    <>
      <div className="screen-head">
        <State finding={f} />
        <h1 className="grow">
          <Sentence finding={f} />
        </h1>
        <ProofLink index={f.index} />
      </div>
      <p className="muted">{w.help[f.kind]}</p>
      <section className="card stack">
        {f.detail && (
          <div>
            <h2>{w.detail}</h2>
            <AgentText text={f.detail} />
          </div>
        )}
        <dl className="facts">
          {f.tool && (
            <Fact name={w.tool}>
              <AgentText text={f.tool} />
            </Fact>
          )}
          {f.agentId && (
            <Fact name={w.agent}>
              <Link to="/agents/$id" params={{ id: f.agentId }}>
                <AgentText text={f.agentId} />
              </Link>
            </Fact>
          )}
          <Fact name={w.happened}>
            <Time at={f.happenedAt} form="absolute" />
          </Fact>
          <Fact name={w.foundAt}>
            <Time at={f.foundAt} form="absolute" />
          </Fact>
          {f.resolvedAt && (
            <Fact name={w.resolvedAt}>
              <Time at={f.resolvedAt} form="absolute" />
            </Fact>
          )}
          {f.sessionId && (
            <Fact name={w.session}>
              <Link to="/sessions/$id" params={{ id: f.sessionId }}>
                <AgentText text={f.sessionId} short />
              </Link>
            </Fact>
          )}
          {f.planId && (
            <Fact name={w.plan}>
              <Link to="/plans/$id" params={{ id: f.planId }}>
                <AgentText text={f.planId} short />
              </Link>
            </Fact>
          )}
          {f.keyId && (
            <Fact name={w.key}>
              <KeyChip id={f.keyId} />
            </Fact>
          )}
          {f.decisionId && (
            <Fact name={w.decision}>
              <IdChip id={f.decisionId} />
            </Fact>
          )}
          {f.executionId && (
            <Fact name={w.execution}>
              <IdChip id={f.executionId} />
            </Fact>
          )}
        </dl>
        <div className="row wrap">
          <Link className="button primary" to="/audit/$index" params={{ index: String(f.index) }}>
            {w.openEntry}
          </Link>
          {f.sessionId && (
            <Link className="button" to="/decisions" search={{ session: f.sessionId }}>
              {w.openDecisions}
            </Link>
          )}
        </div>
      </section>
    </>
  );
}
