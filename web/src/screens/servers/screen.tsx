import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { count } from "../../ui/format";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { servers as w } from "../../words/servers";
import { Health, ServerStatus } from "./parts";
import { findingsQuery, type Server, serversQuery } from "./queries";
import { Register } from "./Register";
import "./servers.css";

const route = getRouteApi("/frame/servers");

const filters = [{ name: "status", label: w.status, values: Object.entries(w.statuses) }];

const Name = ({ server: s }: { server: Server }) => (
  <Link className="one-line server-link" to="/servers/$id" params={{ id: s.mcpId }}>
    <AgentText text={s.name} short />
  </Link>
);

const Held = ({ server: s }: { server: Server }) =>
  s.heldCount > 0 ? <StatusBadge word={w.heldTools(count(s.heldCount))} error /> : <span className="faint">–</span>;

// Each server is a request of its own; only those in view are asked about.
function OpenFindings({ server }: { server: Server }) {
  const org = useOrg();
  const { data } = useQuery(findingsQuery(org.id, server.mcpId));
  if (!data) return <span className="faint">–</span>;
  if (data.open === 0) return <span className="faint">{w.clean}</span>;
  return (
    <Link {...linkTo("/servers/$id", { tab: "findings" })} params={{ id: server.mcpId } as never}>
      {w.openFindings(Number(data.open))}
    </Link>
  );
}

const columns: Column<Server>[] = [
  { id: "name", head: w.columns.name, width: "minmax(160px, 2fr)", cell: (s) => <Name server={s} /> },
  { id: "status", head: w.columns.status, width: "108px", cell: (s) => <ServerStatus status={s.status} /> },
  { id: "health", head: w.columns.health, width: "156px", cell: (s) => <Health health={s.health} /> },
  { id: "tools", head: w.columns.tools, width: "72px", number: true, cell: (s) => count(s.toolCount) },
  { id: "held", head: w.columns.held, width: "96px", cell: (s) => <Held server={s} /> },
  { id: "findings", head: w.columns.findings, width: "96px", cell: (s) => <OpenFindings server={s} /> },
  {
    id: "transport",
    head: w.columns.transport,
    width: "minmax(96px, 1fr)",
    cell: (s) => w.transports[s.transport] ?? "–",
  },
  {
    id: "checked",
    head: w.columns.checked,
    width: "80px",
    cell: (s) => (s.health.checkedAt ? <Time at={s.health.checkedAt} /> : "–"),
  },
];

const keyOf = (s: Server) => s.mcpId;
const nothing: Server[] = [];

/** Servers lists the MCP servers that agents reach. */
export function Servers() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/servers" });
  const list = useQuery(serversQuery(org.id, status));
  const rows = list.data?.servers ?? nothing;
  useNeighbours("/servers", rows, keyOf);
  const narrow = (change: object) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  const open = useCallback(
    (s: Server) => void navigate({ to: "/servers/$id", params: { id: s.mcpId }, search: {} }),
    [navigate],
  );
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        <Register />
      </div>
      <FilterBar filters={filters} value={{ status }} onChange={narrow} />
      <Table
        rows={rows}
        loading={list.isPending}
        error={list.error}
        retry={() => void list.refetch()}
        label={w.title}
        columns={columns}
        rowKey={keyOf}
        card={card}
        onOpen={open}
        empty={
          status ? (
            <Empty
              title={w.noneMatch}
              action={<Button onClick={() => narrow({ status: undefined })}>{words.ui.clear}</Button>}
            />
          ) : (
            <Empty title={w.none}>{w.noneHelp}</Empty>
          )
        }
      />
    </div>
  );
}

const card = (s: Server) => (
  <div className="stack tight">
    <div className="row">
      <span className="grow">
        <Name server={s} />
      </span>
      <ServerStatus status={s.status} />
    </div>
    <div className="row wrap small">
      <Health health={s.health} />
      <span className="muted">{w.toolCount(count(s.toolCount))}</span>
      {s.heldCount > 0 && <Held server={s} />}
    </div>
  </div>
);
