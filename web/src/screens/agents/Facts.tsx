import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Person } from "../../app/people";
import { AgentText } from "../../ui/AgentText";
import { IdChip } from "../../ui/CopyButton";
import { Time } from "../../ui/Time";
import { agents as w } from "../../words/agents";
import type { Agent } from "./queries";

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Facts are what is known of an agent. */
export function Facts({ agent: a }: { agent: Agent }) {
  return (
    <section className="card">
      <dl className="facts">
        <Fact name={w.id}>
          <AgentText text={a.agentId} copy />
        </Fact>
        <Fact name={w.owner}>{a.ownerId ? <Person id={a.ownerId} /> : w.nobody}</Fact>
        {a.description && (
          <Fact name={w.description}>
            <AgentText text={a.description} />
          </Fact>
        )}
        {a.product && (
          <Fact name={w.product}>
            <AgentText text={a.product} short />
          </Fact>
        )}
        {a.environment && <Fact name={w.environment}>{a.environment}</Fact>}
        {a.host && (
          <Fact name={w.host}>
            <AgentText text={a.host} short />
          </Fact>
        )}
        <Fact name={w.plan}>
          {a.currentPlan ? (
            <Link to="/plans/$id" params={{ id: a.currentPlan.planId }}>
              <AgentText text={a.currentPlan.planId} short />
            </Link>
          ) : (
            w.noPlan
          )}
        </Fact>
        {a.intentRequired && <Fact name={w.plans}>{w.plansYes}</Fact>}
        {a.publicKey && (
          <Fact name={w.publicKey}>
            <IdChip id={a.publicKey} />
          </Fact>
        )}
        <Fact name={w.registered}>
          <Time at={a.createdAt} form="absolute" />
        </Fact>
      </dl>
    </section>
  );
}
