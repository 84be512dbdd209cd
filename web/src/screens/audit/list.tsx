import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo } from "react";
import { useOrg } from "../../app/org";
import { StartLink } from "../../app/StartLink";
import { useNeighbours } from "../../app/shell/neighbours";
import { useList } from "../../app/useList";
import type { LiveEvent } from "../../live/live";
import { useNew } from "../../live/useLive";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { RangePicker } from "../../ui/RangePicker";
import { Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { answerable, noteOn, useFilters } from "./filters";
import { type EntrySearch, entriesQuery, filtersOf, type ListedEntry } from "./queries";

const w = words.audit;

interface ListProps {
  label: string;
  search: EntrySearch;
  decisions: boolean;
  columns: Column<ListedEntry>[];
  card: (entry: ListedEntry) => ReactNode;
  onSearch: (change: object) => void;
}

const keyOf = (entry: ListedEntry) => String(entry.index);

/** EntryList is the log, narrowed by filters. What arrives waits behind a pill. */
export function EntryList({ label, search, decisions, columns, card, onSearch }: ListProps) {
  const org = useOrg();
  const navigate = useNavigate();
  const query = useMemo(() => entriesQuery(org.id, answerable(search), decisions), [org.id, search, decisions]);
  const { table, rows, reload } = useList(query);
  useNeighbours("/audit", rows, keyOf);
  const filters = useFilters(search, decisions);
  const { waiting, show } = useNew((event) => isWanted(event, search), reload);
  const open = useCallback(
    (entry: ListedEntry) => void navigate({ to: "/audit/$index", params: { index: String(entry.index) } }),
    [navigate],
  );
  const note = noteOn(search);
  return (
    <>
      <FilterBar filters={filters} value={search} onChange={onSearch}>
        <RangePicker value={search} onChange={onSearch} />
        {waiting > 0 && (
          <Button className="new-pill" onClick={show}>
            {decisions ? w.newDecisions(waiting) : w.newEntries(waiting)} ↑
          </Button>
        )}
      </FilterBar>
      {note && <p className="notice small">{note}</p>}
      <Table
        {...table}
        label={label}
        columns={columns}
        rowKey={keyOf}
        card={card}
        onOpen={open}
        empty={<Nothing search={search} decisions={decisions} onSearch={onSearch} />}
      />
    </>
  );
}

// Whether a decision that arrived would be in the list. Other entries have no stream.
function isWanted(event: LiveEvent, search: EntrySearch): boolean {
  if (event.kind !== "decision" || search.to || search.actor) return false;
  const d = event.decision;
  const is = (wanted: string | undefined, value: string | undefined) => wanted === undefined || wanted === value;
  return (
    (!search.decision || search.decision.some((wanted) => wanted === d.decision)) &&
    (!search.action || search.action === "call.decided") &&
    is(search.tool, d.tool) &&
    is(search.server, d.server) &&
    is(search.agent, d.agentId) &&
    is(search.policy, d.policyId) &&
    is(search.rule, d.ruleId) &&
    is(search.session, d.sessionId) &&
    is(search.plan, d.planId)
  );
}

function Nothing({ search, decisions, onSearch }: Pick<ListProps, "search" | "decisions" | "onSearch">) {
  const timed = search.range !== undefined || search.from !== undefined;
  const filters = filtersOf(search) + (timed ? 1 : 0);
  if (filters > 0) {
    const clear = () =>
      onSearch(Object.fromEntries([...Object.keys(search)].filter((n) => n !== "org").map((n) => [n, undefined])));
    return <Empty title={w.noneMatch(filters)} action={<Button onClick={clear}>{words.ui.clear}</Button>} />;
  }
  if (!decisions) return <Empty title={w.noEntries}>{w.noEntriesHelp}</Empty>;
  return (
    <Empty title={w.noDecisions} action={<StartLink>{w.firstDecision}</StartLink>}>
      {w.noDecisionsHelp}
    </Empty>
  );
}
