import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { useList } from "../../app/useList";
import { useNew } from "../../live/useLive";
import { AgentText, ToolName } from "../../ui/AgentText";
import { RiskBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import { Status, useName } from "./parts";
import { type Approval, type HistorySearch, historyQuery } from "./queries";

const filters = [
  {
    name: "status",
    label: w.filters.status,
    values: Object.entries(w.status).filter(([s]) => s !== "pending"),
  },
  { name: "tool", label: w.filters.tool },
  { name: "agentId", label: w.filters.agent },
  { name: "risk", label: w.filters.risk, values: Object.entries(words.ui.risks) },
  { name: "kind", label: w.filters.kind, values: Object.entries(w.kindNames) },
];

const keyOf = (r: Approval) => r.delegationId;

/** History lists requests with what became of them, the newest first. */
export function History({ search }: { search: HistorySearch }) {
  const org = useOrg();
  const navigate = useNavigate();
  const name = useName();
  const { table, rows, reload } = useList(historyQuery(org.id, search));
  useNeighbours("/approvals", rows, keyOf);
  const news = useNew((event) => event.kind === "notification", reload);
  const columns = useMemo(() => columnsOf(name), [name]);
  const narrow = (change: HistorySearch) =>
    navigate({ to: "/approvals", search: (old: object) => ({ ...old, ...change, status: change.status ?? "all" }) });
  const open = useCallback(
    (r: Approval) => void navigate({ to: "/approvals/$id", params: { id: r.delegationId } }),
    [navigate],
  );
  const { status, tool, agentId, risk, kind } = search;
  const chosen = { ...search, status: status === "all" ? undefined : status };
  const filtered = tool || agentId || risk || kind || (status && status !== "all");
  const clear = () => narrow({ tool: undefined, agentId: undefined, risk: undefined, kind: undefined });
  return (
    <>
      <div className="row wrap">
        <FilterBar filters={filters} value={chosen} onChange={(change) => void narrow({ status, ...change })} />
        {news.waiting > 0 && (
          <Button className="new-pill" onClick={news.show}>
            {words.ui.newRows(news.waiting, w.historyNews)}
          </Button>
        )}
      </div>
      <Table
        {...table}
        label={w.tabs.history}
        columns={columns}
        rowKey={keyOf}
        card={(r) => <Card request={r} name={name} />}
        onOpen={open}
        empty={
          filtered ? (
            <Empty title={w.noneFiltered} action={<Button onClick={() => void clear()}>{words.ui.clear}</Button>} />
          ) : (
            <Empty title={w.noneEver}>{w.noneEverHelp}</Empty>
          )
        }
      />
    </>
  );
}

function columnsOf(name: (id: string | undefined) => string): Column<Approval>[] {
  const c = w.columns;
  return [
    { id: "asked", head: c.asked, width: "88px", cell: (r) => <Time at={r.createdAt} /> },
    { id: "status", head: c.status, width: "112px", cell: (r) => <Status request={r} /> },
    {
      id: "risk",
      head: c.risk,
      width: "104px",
      cell: (r) => (r.risk.level ? <RiskBadge risk={r.risk.level} /> : "–"),
    },
    {
      id: "tool",
      head: c.tool,
      width: "minmax(160px, 2fr)",
      cell: (r) => <ToolName server={r.server} tool={r.tool} line />,
    },
    {
      id: "agent",
      head: c.agent,
      width: "minmax(96px, 1fr)",
      cell: (r) => <AgentText text={r.agentId ?? "–"} line />,
    },
    {
      id: "answered",
      head: c.answered,
      width: "minmax(96px, 1fr)",
      cell: (r) => (r.decidedBy ? <bdi>{name(r.decidedBy)}</bdi> : "–"),
    },
    {
      id: "note",
      head: c.note,
      width: "minmax(120px, 2fr)",
      cell: (r) => (r.note ? <AgentText text={r.note} line /> : "–"),
    },
  ];
}

function Card({ request: r, name }: { request: Approval; name: (id: string | undefined) => string }) {
  return (
    <div className="stack tight">
      <div className="row">
        <Status request={r} />
        <span className="grow small faint">
          <Time at={r.createdAt} />
        </span>
        {r.risk.level && <RiskBadge risk={r.risk.level} />}
      </div>
      <ToolName server={r.server} tool={r.tool} line />
      {r.decidedBy && (
        <span className="small muted">
          <bdi>{name(r.decidedBy)}</bdi>
        </span>
      )}
    </div>
  );
}
