import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { ProofLink } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { Sentence, State } from "./parts";
import { type Finding, findingsQuery } from "./queries";

const w = words.findings;
const route = getRouteApi("/frame/findings");

const filters = [
  { name: "kind", label: w.kind, values: Object.entries(w.kinds) },
  {
    name: "state",
    label: w.state,
    values: [
      ["open", w.open],
      ["all", words.ui.all],
    ] as const,
  },
];

const columns: Column<Finding>[] = [
  { id: "found", head: w.columns.found, width: "88px", cell: (f) => <Time at={f.foundAt} /> },
  { id: "kind", head: w.columns.kind, width: "minmax(220px, 2fr)", cell: (f) => <Sentence finding={f} /> },
  {
    id: "tool",
    head: w.columns.tool,
    width: "minmax(140px, 1fr)",
    cell: (f) => <AgentText text={f.tool ?? "–"} line />,
  },
  {
    id: "agent",
    head: w.columns.agent,
    width: "minmax(100px, 1fr)",
    cell: (f) => <AgentText text={f.agentId ?? "–"} line />,
  },
  { id: "state", head: w.columns.state, width: "96px", cell: (f) => <State finding={f} /> },
  { id: "entry", head: w.columns.entry, width: "88px", cell: (f) => <ProofLink index={f.index} /> },
];

const keyOf = (f: Finding) => f.id;

/** Findings lists where what ran differs from what was decided. */
export function Findings() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/findings" });
  const { table, rows } = useList(findingsQuery(org.id, search));
  useNeighbours("/findings", rows, keyOf);
  const narrow = (change: object) => navigate({ to: "/findings", search: (old: object) => ({ ...old, ...change }) });
  const open = useCallback(
    (f: Finding) => void navigate({ to: "/findings/$findingId", params: { findingId: f.id } }),
    [navigate],
  );
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
      </div>
      <FilterBar filters={filters} value={search} onChange={narrow} />
      <Table
        {...table}
        label={w.title}
        columns={columns}
        rowKey={keyOf}
        card={(f) => <Card finding={f} />}
        onOpen={open}
        empty={
          <NoFindings
            filtered={search.kind !== undefined}
            onClear={() => narrow({ kind: undefined, state: undefined })}
          />
        }
      />
    </div>
  );
}

function NoFindings({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) return <Empty title={w.noneFiltered(1)} action={<Button onClick={onClear}>{words.ui.clear}</Button>} />;
  return <Empty title={w.none}>{w.noneHelp}</Empty>;
}

function Card({ finding: f }: { finding: Finding }) {
  return (
    <div className="stack tight">
      <div className="row">
        <State finding={f} />
        <span className="grow small faint">
          <Time at={f.foundAt} />
        </span>
        <ProofLink index={f.index} />
      </div>
      <span>
        <Sentence finding={f} />
      </span>
      <span className="small">
        <AgentText text={f.tool ?? "–"} line />
      </span>
      <span className="small muted">
        <AgentText text={f.agentId ?? "–"} line />
      </span>
    </div>
  );
}
