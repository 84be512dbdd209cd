import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { count, duration } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { servers as w } from "../../words/servers";
import { agentsOf } from "./flow";
import { callsQuery, latestQuery, type Server } from "./queries";

type Called = Body<"MCPToolTelemetryBody">;

/** Calls are how often the tools of a server were called, and by whom. Every number opens the decisions it counts. */
export function Calls({ server }: { server: Server }) {
  const org = useOrg();
  const calls = useQuery(callsQuery(org.id, server.mcpId));
  const entries = useQuery(latestQuery(org.id, server.name)).data ?? [];
  const agents = agentsOf(entries);
  return (
    <section className="card stack tight">
      <Loaded query={calls}>
        {({ tools, days }) => (
          <>
            <p className="small muted">
              {w.callsMean(Number(days))} {entries.length > 0 && w.agentsMean(entries.length)}
            </p>
            {tools.length === 0 && <p>{w.noCalls}</p>}
            <ul className="lines" aria-label={w.tabs.calls}>
              {tools.map((t) => (
                <CallLine key={t.tool} server={server.name} called={t} agents={agents.get(t.tool) ?? []} />
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </section>
  );
}

interface LineProps {
  server: string;
  called: Called;
  agents: [agent: string, calls: number][];
}

function CallLine({ server, called: t, agents }: LineProps) {
  const open = (search: object) => linkTo("/decisions", { server, tool: t.tool, range: "7d", ...search });
  const ms = (n: number | null) => (n === null ? "–" : duration(Number(n)));
  return (
    <li>
      <strong className="grow">
        <AgentText text={t.tool} short />
      </strong>
      <Link {...open({})}>
        {w.calls} {count(t.calls)}
      </Link>
      <Link {...open({ decision: ["deny"] })}>
        {w.deniedCalls} {count(t.denials)}
      </Link>
      <Link {...open({ decision: ["hold", "ask"] })}>
        {w.held} {count(t.holds + t.asks)}
      </Link>
      <span className="small muted">
        {w.errors} {count(t.errors)} · {w.p50} {ms(t.p50Ms)} · {w.p95} {ms(t.p95Ms)}
      </span>
      <span className="call-agents row wrap small">
        {agents.map(([agent, n]) => (
          <Link key={agent} className="badge neutral" {...open(agent ? { agent } : {})}>
            {agent ? <AgentText text={agent} short /> : w.noAgent} {count(n)}
          </Link>
        ))}
      </span>
    </li>
  );
}
