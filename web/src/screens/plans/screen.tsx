import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { count } from "../../ui/format";
import { RangePicker } from "../../ui/RangePicker";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { endOf } from "./ends";
import { HowTo } from "./HowTo";
import { PlanStatus } from "./PlanStatus";
import { type ListedPlan, type PlanSearch, plansQuery } from "./queries";

const w = words.plans;
const route = getRouteApi("/frame/plans");

const filters = [
  { name: "status", label: w.filters.status, values: Object.entries(w.statuses) },
  { name: "agentId", label: w.filters.agentId },
  { name: "user", label: w.filters.user },
];

const columns: Column<ListedPlan>[] = [
  { id: "declared", head: w.columns.declared, width: "80px", cell: (p) => <Time at={p.createdAt} /> },
  { id: "status", head: w.columns.status, width: "100px", cell: (p) => <PlanStatus plan={p} /> },
  {
    id: "goal",
    head: w.columns.goal,
    width: "minmax(220px, 3fr)",
    cell: (p) => <Goal plan={p} />,
  },
  {
    id: "agent",
    head: w.columns.agent,
    width: "minmax(100px, 1fr)",
    cell: (p) => <AgentText text={p.agentId || p.delegatedTo || "–"} line />,
  },
  {
    id: "user",
    head: w.columns.user,
    width: "minmax(100px, 1fr)",
    cell: (p) => <AgentText text={p.userEmail || p.userId || "–"} line />,
  },
  { id: "steps", head: w.columns.steps, width: "64px", number: true, cell: (p) => count(p.stepCount) },
  { id: "ends", head: w.columns.ends, width: "100px", cell: (p) => <Ends plan={p} /> },
];

/** Goal is what a plan is for. One under another often has the same. */
function Goal({ plan }: { plan: ListedPlan }) {
  return (
    <span className="one-line">
      {plan.parentId && <span className="faint">{w.under} </span>}
      <AgentText text={plan.goal || "–"} short />
    </span>
  );
}

function Ends({ plan }: { plan: ListedPlan }) {
  const { at } = endOf(plan);
  return at ? <Time at={at} form="ends" /> : "–";
}

const keyOf = (p: ListedPlan) => p.id;

/** Plans lists what agents declared they would do. */
export function Plans() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/plans" });
  const { table, rows } = useList(plansQuery(org.id, search));
  useNeighbours("/plans", rows, keyOf);
  const narrow = (change: object) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  const open = useCallback((p: ListedPlan) => void navigate({ to: "/plans/$id", params: { id: p.id } }), [navigate]);
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
      </div>
      <FilterBar filters={filters} value={search} onChange={narrow}>
        <RangePicker value={search} onChange={narrow} />
      </FilterBar>
      <Table
        {...table}
        label={w.title}
        columns={columns}
        rowKey={keyOf}
        card={card}
        onOpen={open}
        empty={<NoPlans search={search} onClear={narrow} />}
      />
    </div>
  );
}

const card = (p: ListedPlan) => (
  <div className="stack tight">
    <div className="row">
      <PlanStatus plan={p} />
      <span className="grow small faint">
        <Time at={p.createdAt} />
      </span>
      <span className="small muted">{w.stepCount(count(p.stepCount))}</span>
    </div>
    <Goal plan={p} />
    <span className="small muted">
      <AgentText text={p.agentId || p.delegatedTo || "–"} line />
    </span>
  </div>
);

function NoPlans({ search, onClear }: { search: PlanSearch; onClear: (change: object) => void }) {
  const names = ["status", "agentId", "user", "range", "from"] as const;
  const set = names.filter((name) => search[name] !== undefined);
  if (set.length === 0) {
    return (
      <Empty title={w.none} action={<HowTo />}>
        {w.noneHelp}
      </Empty>
    );
  }
  const clear = () => onClear(Object.fromEntries([...names, "to"].map((name) => [name, undefined])));
  return <Empty title={w.noneMatch(set.length)} action={<Button onClick={clear}>{words.ui.clear}</Button>} />;
}
