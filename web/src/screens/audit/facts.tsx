import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { AgentText, ToolName } from "../../ui/AgentText";
import { Time } from "../../ui/Time";
import { actionWords } from "../../words/actions";
import { words } from "../../words/en";
import { Decider } from "./Decider";
import { Actor, Subject } from "./parties";
import type { Told } from "./record";

const w = words.audit;

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Facts are what the record of an entry says, for any action. */
export function Facts({ entry }: { entry: Told }) {
  const { step } = entry;
  return (
    <dl className="facts">
      <Fact name={w.time}>
        <Time at={entry.time} form="absolute" />
      </Fact>
      <Fact name={w.action}>
        {actionWords[entry.action] ?? entry.action} <code className="faint">{entry.action}</code>
      </Fact>
      <Fact name={w.actor}>
        <Actor actor={entry.actor} />
      </Fact>
      {!entry.decision && (
        <Fact name={w.subject}>
          <Subject subject={entry.subject} />
        </Fact>
      )}
      {entry.tool && (
        <Fact name={w.columns.tool}>
          <Link to="/decisions" search={{ tool: entry.tool }}>
            <ToolName server={entry.server} tool={entry.tool} />
          </Link>
        </Fact>
      )}
      {entry.agent && (
        <Fact name={w.agent}>
          <Link to="/agents/$id" params={{ id: entry.agent }}>
            <AgentText text={entry.agent} short />
          </Link>
        </Fact>
      )}
      {entry.session && (
        <Fact name={w.session}>
          <Link to="/sessions/$id" params={{ id: entry.session }}>
            <AgentText text={entry.session} short />
          </Link>
        </Fact>
      )}
      {entry.plan && (
        <Fact name={w.plan}>
          <Link to="/plans/$id" params={{ id: entry.plan }} search={step ? { step: Number(step) } : {}}>
            <AgentText text={entry.plan} short />
            {step && `, ${w.step(step)}`}
          </Link>
        </Fact>
      )}
      {entry.policy && (
        <Fact name={w.decider}>
          <Decider policy={entry.policy} rule={entry.rule} linked />
        </Fact>
      )}
      {entry.approval && (
        <Fact name={w.approval}>
          <Link to="/approvals/$id" params={{ id: entry.approval }}>
            {w.toApproval}
          </Link>
        </Fact>
      )}
    </dl>
  );
}
