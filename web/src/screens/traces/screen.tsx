import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { ExportMenu, pathWith } from "../../app/ExportMenu";
import { useOrg } from "../../app/org";
import { StartLink } from "../../app/StartLink";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { useList } from "../../app/useList";
import { useNew } from "../../live/useLive";
import { Button } from "../../ui/Button";
import { FilterBar, type Filtered } from "../../ui/FilterBar";
import { RangePicker } from "../../ui/RangePicker";
import { type RangeSearch, useBounds } from "../../ui/range";
import { Empty } from "../../ui/states";
import { ColumnsMenu } from "../../ui/table/ColumnsMenu";
import { chosenColumns } from "../../ui/table/columns";
import { Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { Card, columns } from "./columns";
import { queryOf, type Trace, type TracesFilter, tracesQuery } from "./queries";
import { statuses } from "./search";

const w = words.traces;
const route = getRouteApi("/frame/traces");

const filters = [
  { name: "status", label: w.filters.status, values: statuses.map((s) => [s, words.ui.statuses[s] ?? s] as const) },
  { name: "agentId", label: w.filters.agentId },
  { name: "name", label: w.filters.name },
  { name: "tool", label: w.filters.tool },
  { name: "model", label: w.filters.model },
  { name: "sessionId", label: w.filters.sessionId },
  { name: "userId", label: w.filters.userId },
  { name: "minDurationMs", label: w.filters.minDurationMs },
  { name: "minCostUsd", label: w.filters.minCostUsd },
  {
    name: "hasError",
    label: w.filters.hasError,
    values: [
      ["true", w.yes],
      ["false", w.no],
    ] as const,
  },
];

const filtersOf = (search: TracesFilter): Filtered =>
  Object.fromEntries(
    filters.flatMap(({ name }) => {
      const value = search[name as keyof TracesFilter];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );

/** Traces lists what agents did, the newest first. */
export function Traces() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/traces" });
  const bounds = useBounds(search, "7d");
  const { table, rows, reload } = useList(tracesQuery(org.id, search, bounds));
  useNeighbours("/traces", rows, keyOf);
  const filter = filtersOf(search);
  const narrowed = Object.keys(filter).length;
  const change = (changed: object) => navigate({ to: "/traces", search: (old: object) => ({ ...old, ...changed }) });
  const { waiting, show } = useNew((e) => e.kind === "trace" && !e.trace.grew && matches(search, e.trace), reload);
  const shown = useMemo(() => chosenColumns(columns, search.cols), [search.cols]);
  const open = useCallback((t: Trace) => void navigate({ to: "/traces/$id", params: { id: t.id } }), [navigate]);
  const clear = () => change(Object.fromEntries(filters.map((f) => [f.name, undefined])));
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        {waiting > 0 && !search.to && (
          <Button className="new-pill" onClick={show}>
            {words.ui.newRows(waiting, w.what(waiting))} ↑
          </Button>
        )}
        <ColumnsMenu columns={columns} cols={search.cols} onChange={(cols) => change({ cols })} />
        <ExportMenu heading={w.exportHeading} choices={exportsOf(org.id, queryOf(search, bounds))} />
      </div>
      <FilterBar filters={filters} value={filter} onChange={change}>
        <RangePicker value={search} fallback="7d" onChange={(range: RangeSearch) => change(range)} />
      </FilterBar>
      <Table
        {...table}
        label={w.title}
        columns={shown}
        rowKey={keyOf}
        card={cardOf}
        onOpen={open}
        empty={<NoTraces search={search} narrowed={narrowed} onClear={clear} onMonth={() => change(month)} />}
      />
    </div>
  );
}

const keyOf = (t: Trace) => t.id;
const cardOf = (t: Trace) => <Card trace={t} />;
const month = { range: "30d", from: undefined, to: undefined };

// The stream has all traces; the pill counts those that the list would have.
function matches(f: TracesFilter, t: { [K in "status" | "agentId" | "name"]: string } & Partial<Trace>): boolean {
  return (
    (!f.status || f.status === t.status) &&
    (!f.agentId || f.agentId === t.agentId) &&
    (!f.name || f.name === t.name) &&
    (!f.sessionId || f.sessionId === t.sessionId) &&
    (!f.userId || f.userId === t.userId) &&
    (f.hasError === undefined || (f.hasError === "true") === (t.status !== "ok")) &&
    (f.minDurationMs === undefined || Number(t.durationMs ?? -1) >= f.minDurationMs) &&
    (f.minCostUsd === undefined || Number(t.totalCostUsd ?? 0) >= f.minCostUsd)
  );
}

function exportsOf(org: string, query: object) {
  const path = `/organization/${org}/observability/traces/export`;
  const one = (label: string, rows: string, format: string) => ({
    label,
    path: pathWith(path, { ...query, rows, format }),
    name: `${rows}.${format}`,
  });
  return [
    one(w.exportAs.traces, "traces", "ndjson"),
    one(w.exportAs.tracesCsv, "traces", "csv"),
    one(w.exportAs.spans, "spans", "ndjson"),
    one(w.exportAs.spansCsv, "spans", "csv"),
  ];
}

interface NoneProps {
  search: TracesFilter;
  narrowed: number;
  onClear: () => void;
  onMonth: () => void;
}

function NoTraces({ search, narrowed, onClear, onMonth }: NoneProps) {
  const wider = (search.range !== "30d" && search.range !== "90d") || search.from !== undefined;
  const toMonth = wider && <Button onClick={onMonth}>{w.showMonth}</Button>;
  if (narrowed > 0) {
    const acts = (
      <>
        <Button onClick={onClear}>{words.ui.clear}</Button>
        {toMonth}
      </>
    );
    return <Empty title={w.noneFiltered(narrowed)} action={acts} />;
  }
  if (search.range || search.from) {
    const range = search.from ? words.ui.thisTime : words.ranges[search.range ?? "7d"];
    return <Empty title={w.noneInTime(range)} action={toMonth} />;
  }
  return (
    <Empty
      title={w.none}
      action={
        <>
          <StartLink>{w.start}</StartLink>
          {toMonth}
        </>
      }
    >
      {w.noneHelp}
    </Empty>
  );
}
