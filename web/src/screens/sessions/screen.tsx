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
import { queryOf, type Session, type SessionsFilter, sessionsQuery } from "./queries";
import { statuses } from "./search";

const w = words.sessions;
const route = getRouteApi("/frame/sessions");

const filters = [
  { name: "status", label: w.filters.status, values: statuses.map((s) => [s, w.statuses[s]] as const) },
  { name: "agentId", label: w.filters.agentId },
  { name: "userId", label: w.filters.userId },
];

/** Sessions lists the runs of agents, the latest activity first. */
export function Sessions() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/sessions" });
  const bounds = useBounds(search, "7d");
  const { table, rows, reload } = useList(sessionsQuery(org.id, search, bounds));
  useNeighbours("/sessions", rows, keyOf);
  const { waiting, show } = useNew(
    (e) => e.kind === "trace" && e.trace.sessionId !== null && (!search.agentId || search.agentId === e.trace.agentId),
    reload,
  );
  const filter: Filtered = { status: search.status, agentId: search.agentId, userId: search.userId };
  const change = (changed: object) => navigate({ to: "/sessions", search: (old: object) => ({ ...old, ...changed }) });
  const shown = useMemo(() => chosenColumns(columns, search.cols), [search.cols]);
  const open = useCallback((s: Session) => void navigate({ to: "/sessions/$id", params: { id: s.id } }), [navigate]);
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        {waiting > 0 && !search.to && (
          <Button className="new-pill" onClick={show}>
            {words.ui.newRows(waiting, words.traces.what(waiting))} ↑
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
        empty={<NoSessions search={search} onChange={change} />}
      />
    </div>
  );
}

const keyOf = (s: Session) => s.id;
const cardOf = (s: Session) => <Card session={s} />;

function exportsOf(org: string, query: object) {
  const path = `/organization/${org}/observability/sessions/export`;
  return (["ndjson", "csv"] as const).map((format) => ({
    label: w.exportAs[format],
    path: pathWith(path, { ...query, format }),
    name: `sessions.${format}`,
  }));
}

function NoSessions({ search, onChange }: { search: SessionsFilter; onChange: (changed: object) => void }) {
  const narrowed = [search.status, search.agentId, search.userId].filter((v) => v !== undefined).length;
  const toMonth = search.range !== "30d" && search.range !== "90d" && (
    <Button onClick={() => onChange({ range: "30d", from: undefined, to: undefined })}>{w.showMonth}</Button>
  );
  if (narrowed > 0) {
    const clear = () => onChange({ status: undefined, agentId: undefined, userId: undefined });
    const acts = (
      <>
        <Button onClick={clear}>{words.ui.clear}</Button>
        {toMonth}
      </>
    );
    return <Empty title={w.noneFiltered(narrowed)} action={acts} />;
  }
  if (search.range || search.from) {
    const range = search.from ? words.ui.thisTime : words.ranges[search.range ?? "7d"];
    return <Empty title={w.noneInTime(range)} action={toMonth} />;
  }
  const acts = (
    <>
      <StartLink>{w.start}</StartLink>
      {toMonth}
    </>
  );
  return (
    <Empty title={w.none} action={acts}>
      {w.noneHelp}
    </Empty>
  );
}
