import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Sparkline } from "../../ui/chart/Sparkline";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { agentsQuery } from "./queries";

const w = words.overview;

/** Agents lists who is at work, with what they did today. */
export function Agents() {
  const org = useOrg();
  const query = useQuery(agentsQuery(org.id));
  return (
    <section className="card stack tight">
      <h2>{w.agents}</h2>
      <Loaded query={query} skeleton={<SkeletonLines lines={8} />}>
        {(agents) =>
          agents.length === 0 ? (
            <p className="muted">{w.noAgents}</p>
          ) : (
            <ul className="agents">
              {agents.map((agent) => (
                <Row key={agent.agentId} agent={agent} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function Row({ agent: a }: { agent: Body<"AgentBody"> }) {
  const calls = (a.sparkline ?? []).map(Number);
  return (
    <li className="agent-row">
      <Link className="agent-name" to="/agents/$id" params={{ id: a.agentId }}>
        <AgentText text={a.name || a.agentId} line />
        <span className="small faint">{a.lastSeenAt && <Time at={a.lastSeenAt} />}</span>
      </Link>
      {(a.status === "killed" || a.status === "suspended") && <StatusBadge word={w.agentStates[a.status]} error />}
      <Sparkline values={calls} label={w.callsADay(count(calls.reduce((x, y) => x + y, 0)))} />
      <span className="number small agent-figures">
        {a.today && (
          <>
            {w.calls(count(a.today.calls))}
            <br />
            {w.deniedToday(count(a.today.denials))}
            {a.today.costUsd != null && ` · ${money(Number(a.today.costUsd))}`}
          </>
        )}
      </span>
    </li>
  );
}
