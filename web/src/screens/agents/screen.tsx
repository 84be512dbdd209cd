import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { KillDialog } from "../../app/kill/KillDialog";
import { useMayKill } from "../../app/kill/queries";
import { StopList } from "../../app/kill/StopList";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { StartLink } from "../../app/StartLink";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { count, money } from "../../ui/format";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { kill } from "../../words/acts";
import { agents as w } from "../../words/agents";
import { words } from "../../words/en";
import { AgentStatus, Day, midnight } from "./parts";
import { type Agent, agentsQuery } from "./queries";
import { Register } from "./Register";
import "./agents.css";

const route = getRouteApi("/frame/agents");

const filters = [{ name: "status", label: w.status, values: Object.entries(w.statuses) }];

const seen = (a: Agent) => (a.lastSeenAt ? <Time at={a.lastSeenAt} /> : <span className="faint">{w.never}</span>);
const costOf = (a: Agent) => (a.today?.costUsd == null ? "–" : money(Number(a.today.costUsd)));

// A number opens the list that it counts.
function Counted({ agent, n, search = {} }: { agent: Agent; n: number | undefined; search?: object }) {
  if (n === undefined) return <span title={w.notKnown}>–</span>;
  return <Link {...linkTo("/decisions", { agent: agent.agentId, from: midnight(), ...search })}>{count(n)}</Link>;
}

const columns: Column<Agent>[] = [
  {
    id: "agent",
    head: w.columns.agent,
    width: "minmax(140px, 2fr)",
    cell: (a) => <Name agent={a} />,
  },
  { id: "status", head: w.columns.status, width: "116px", cell: (a) => <AgentStatus status={a.status} /> },
  { id: "seen", head: w.columns.seen, width: "80px", cell: seen },
  { id: "day", head: w.columns.day, width: "104px", cell: (a) => <Day agent={a} /> },
  {
    id: "calls",
    head: w.columns.calls,
    width: "88px",
    number: true,
    cell: (a) => <Counted agent={a} n={a.today?.calls} />,
  },
  {
    id: "denied",
    head: w.columns.denied,
    width: "64px",
    number: true,
    cell: (a) => <Counted agent={a} n={a.today?.denials} search={{ decision: ["deny"] }} />,
  },
  {
    id: "waited",
    head: w.columns.waited,
    width: "96px",
    number: true,
    cell: (a) => (
      <Counted
        agent={a}
        n={a.today ? a.today.holds + a.today.asks : undefined}
        search={{ decision: ["hold", "ask"] }}
      />
    ),
  },
  { id: "cost", head: w.columns.cost, width: "84px", number: true, cell: costOf },
  {
    id: "owner",
    head: w.columns.owner,
    width: "minmax(72px, 1fr)",
    cell: (a) => (a.ownerId ? <Person id={a.ownerId} /> : <span className="faint">–</span>),
  },
];

const keyOf = (a: Agent) => a.agentId;

/** Agents lists who acts in the organization, with what they did today. */
export function Agents() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/agents" });
  const { table, rows } = useList(agentsQuery(org.id, status));
  useNeighbours("/agents", rows, keyOf);
  const narrow = (change: object) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  const open = useCallback(
    (a: Agent) => void navigate({ to: "/agents/$id", params: { id: a.agentId }, search: {} }),
    [navigate],
  );
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        <Register />
        <KillSwitch />
      </div>
      <StopList />
      <FilterBar filters={filters} value={{ status }} onChange={narrow} />
      <Table
        {...table}
        label={w.title}
        columns={columns}
        rowKey={keyOf}
        card={card}
        onOpen={open}
        empty={status ? <NoneMatch onClear={() => narrow({ status: undefined })} /> : <None />}
      />
    </div>
  );
}

function KillSwitch() {
  const refused = useMayKill();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="danger" refused={refused} onClick={() => setOpen(true)}>
        {kill.killSwitch}
      </Button>
      {open && (
        <KillDialog
          first={{ scope: "organization", subject: "" }}
          scopes={["organization", "server", "tool"]}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function Name({ agent: a }: { agent: Agent }) {
  return (
    <Link className="agent-link one-line" to="/agents/$id" params={{ id: a.agentId }}>
      <AgentText text={a.name || a.agentId} short />
      {a.name && a.name !== a.agentId && (
        <span className="small faint">
          <AgentText text={a.agentId} short />
        </span>
      )}
    </Link>
  );
}

const card = (a: Agent) => (
  <div className="stack tight">
    <div className="row">
      <span className="grow">
        <Name agent={a} />
      </span>
      <AgentStatus status={a.status} />
    </div>
    <div className="row wrap small muted">
      <span className="grow">{seen(a)}</span>
      {a.today && (
        <span>
          {w.calls} {count(a.today.calls)} · {w.denied} {count(a.today.denials)} · {costOf(a)}
        </span>
      )}
    </div>
  </div>
);

function None() {
  return (
    <Empty title={w.none} action={<StartLink>{w.start}</StartLink>}>
      {w.noneHelp}
    </Empty>
  );
}

function NoneMatch({ onClear }: { onClear: () => void }) {
  return <Empty title={w.noneMatch} action={<Button onClick={onClear}>{words.ui.clear}</Button>} />;
}
