import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { statusOf } from "../../api/errors";
import { AgentCertificates } from "../../app/certificates/Certificates";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { Tabs } from "../../ui/Tabs";
import { Tile, Tiles } from "../../ui/Tile";
import { Time } from "../../ui/Time";
import { agents as w } from "../../words/agents";
import { Acts, Banner } from "./Acts";
import { Facts } from "./Facts";
import { AgentStatus, Day, midnight } from "./parts";
import { type Agent, agentQuery } from "./queries";
import { Keys, Leases, Policies, TripList } from "./Standing";
import { Trust } from "./Trust";
import { Decisions, Plans, Traces } from "./Work";
import "./agents.css";

const route = getRouteApi("/frame/agents/$id");

/** AgentDetail is one agent: what it does, what binds it, and the way to stop it. */
export function AgentDetail() {
  const { id } = route.useParams();
  const org = useOrg();
  const agent = useQuery(agentQuery(org.id, id));
  usePage({ name: w.title, to: "/agents" }, { name: agent.data?.name || id });
  return (
    <div className="screen">
      {!agent.data && <h1>{w.title}</h1>}
      {statusOf(agent.error) === 404 && !agent.data ? (
        <NotHere />
      ) : (
        <Loaded query={agent} skeleton={<SkeletonLines lines={10} />}>
          {(found) => <Shown agent={found} />}
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
        <Link className="button" to="/agents">
          {w.toList}
        </Link>
      }
    >
      {w.notHereHelp}
    </Empty>
  );
}

function Shown({ agent: a }: { agent: Agent }) {
  const { tab = "decisions" } = route.useSearch();
  return (
    <>
      <div className="screen-head">
        <h1>
          <AgentText text={a.name || a.agentId} short />
        </h1>
        <AgentStatus status={a.status} />
        <span className="grow small faint">{a.lastSeenAt && <Time at={a.lastSeenAt} />}</span>
        <Acts agent={a} />
      </div>
      <Banner agent={a} />
      <Today agent={a} />
      <Facts agent={a} />
      <Tabs label={w.tabsLabel} tabs={Object.entries(w.tabs)} shown={tab} />
      <Part tab={tab} agent={a} />
    </>
  );
}

function Part({ tab, agent }: { tab: keyof typeof w.tabs; agent: Agent }) {
  switch (tab) {
    case "plans":
      return <Plans id={agent.agentId} />;
    case "trust":
      return <Trust id={agent.agentId} />;
    case "traces":
      return <Traces id={agent.agentId} />;
    case "policies":
      return <Policies agent={agent} />;
    case "keys":
      return <Keys agent={agent} />;
    case "certificates":
      return <AgentCertificates id={agent.agentId} />;
    case "leases":
      return <Leases id={agent.agentId} />;
    case "trips":
      return <TripList agent={agent} />;
    default:
      return <Decisions id={agent.agentId} />;
  }
}

// Each number opens the list that it counts.
function Today({ agent: a }: { agent: Agent }) {
  const from = midnight();
  const open = (search: object = {}) => linkTo("/decisions", { agent: a.agentId, from, ...search });
  const known = (n: number | undefined) => (n === undefined ? "–" : count(n));
  const note = a.today ? w.callsNote : w.notKnown;
  const cost = a.today?.costUsd;
  return (
    <Tiles>
      <Tile label={w.calls} value={known(a.today?.calls)} note={note} link={open()} />
      <Tile label={w.denied} value={known(a.today?.denials)} note={note} link={open({ decision: ["deny"] })} />
      <Tile
        label={w.waited}
        value={known(a.today ? a.today.holds + a.today.asks : undefined)}
        note={note}
        link={open({ decision: ["hold", "ask"] })}
      />
      <Tile
        label={w.cost}
        value={cost == null ? "–" : money(Number(cost))}
        note={cost == null ? w.noCost : w.costNote}
        link={linkTo("/traces", { agentId: a.agentId, from })}
      />
      <Tile label={w.columns.day} value={<Day agent={a} />} />
    </Tiles>
  );
}
