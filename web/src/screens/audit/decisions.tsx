import { getRouteApi } from "@tanstack/react-router";
import { usePage } from "../../app/shell/page";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, VerdictBadge } from "../../ui/Badge";
import { Time } from "../../ui/Time";
import type { Column } from "../../ui/table/Table";
import { words } from "../../words/en";
import { Decider } from "./Decider";
import { EntryList } from "./list";
import type { ListedEntry } from "./queries";

const w = words.audit;
const route = getRouteApi("/frame/decisions");

const columns: Column<ListedEntry>[] = [
  { id: "time", head: w.columns.time, width: "72px", cell: (e) => <Time at={e.time} /> },
  {
    id: "verdict",
    head: w.columns.verdict,
    width: "88px",
    cell: (e) => <VerdictBadge verdict={e.decision ?? ""} index={e.index} />,
  },
  {
    id: "tool",
    head: w.columns.tool,
    width: "minmax(160px, 1.4fr)",
    cell: (e) => <ToolName server={e.server} tool={e.tool ?? "–"} />,
  },
  {
    id: "agent",
    head: w.columns.agent,
    width: "minmax(80px, 0.7fr)",
    cell: (e) => <AgentText text={e.agent ?? "–"} line />,
  },
  {
    id: "reason",
    head: w.columns.reason,
    width: "minmax(160px, 2fr)",
    cell: (e) => <AgentText text={e.altered ?? e.reason ?? ""} line />,
  },
  {
    id: "decider",
    head: w.columns.decider,
    width: "minmax(100px, 0.9fr)",
    cell: (e) => <Decider policy={e.policy} rule={e.rule} />,
  },
  { id: "entry", head: w.columns.entry, width: "80px", cell: (e) => <ProofLink index={e.index} /> },
];

/** Decisions lists what agents asked, and what they were answered. */
export function Decisions() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  usePage({ name: w.decisions, to: "/decisions" });
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.decisions}</h1>
      </div>
      <EntryList
        label={w.decisions}
        search={search}
        decisions
        columns={columns}
        card={card}
        onSearch={(change) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) })}
      />
    </div>
  );
}

const card = (e: ListedEntry) => (
  <div className="stack tight">
    <div className="row">
      <VerdictBadge verdict={e.decision ?? ""} index={e.index} />
      <span className="grow small faint">
        <Time at={e.time} />
      </span>
      <ProofLink index={e.index} />
    </div>
    <ToolName server={e.server} tool={e.tool ?? "–"} line />
    <span className="small muted">
      <AgentText text={e.agent ?? "–"} line />
    </span>
    {(e.altered ?? e.reason) && (
      <span className="small">
        <AgentText text={e.altered ?? e.reason ?? ""} line />
      </span>
    )}
  </div>
);
