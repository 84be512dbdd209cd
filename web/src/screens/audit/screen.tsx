import { getRouteApi } from "@tanstack/react-router";
import { usePage } from "../../app/shell/page";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, VerdictBadge } from "../../ui/Badge";
import { Time } from "../../ui/Time";
import type { Column } from "../../ui/table/Table";
import { actionWords } from "../../words/actions";
import { words } from "../../words/en";
import { LogBar } from "./LogBar";
import { EntryList } from "./list";
import { Actor, Subject } from "./parties";
import type { ListedEntry } from "./queries";

const w = words.audit;
const route = getRouteApi("/frame/audit");

const columns: Column<ListedEntry>[] = [
  { id: "time", head: w.columns.time, width: "72px", cell: (e) => <Time at={e.time} /> },
  { id: "action", head: w.columns.action, width: "minmax(186px, 1.2fr)", cell: (e) => <What entry={e} /> },
  { id: "subject", head: w.columns.subject, width: "minmax(180px, 1.6fr)", cell: (e) => <About entry={e} /> },
  {
    id: "agent",
    head: w.columns.agent,
    width: "minmax(68px, 0.6fr)",
    cell: (e) => <AgentText text={e.agent ?? "–"} line />,
  },
  { id: "actor", head: w.columns.actor, width: "minmax(156px, 0.8fr)", cell: (e) => <Actor actor={e.actor} /> },
  { id: "entry", head: w.columns.entry, width: "80px", cell: (e) => <ProofLink index={e.index} /> },
];

/** AuditLog lists everything that changed or was decided. */
export function AuditLog() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  usePage({ name: w.title, to: "/audit" });
  return (
    <div className="screen fill">
      <LogBar />
      <EntryList
        label={w.title}
        search={search}
        decisions={false}
        columns={columns}
        card={card}
        onSearch={(change) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) })}
      />
    </div>
  );
}

function What({ entry }: { entry: ListedEntry }) {
  return (
    <span className="row">
      {entry.decision && <VerdictBadge verdict={entry.decision} index={entry.index} />}
      {entry.altered && entry.decision !== "altered" && <VerdictBadge verdict="altered" index={entry.index} />}
      <span className="one-line">{actionWords[entry.action] ?? entry.action}</span>
    </span>
  );
}

function About({ entry }: { entry: ListedEntry }) {
  return entry.tool ? <ToolName server={entry.server} tool={entry.tool} line /> : <Subject subject={entry.subject} />;
}

const card = (e: ListedEntry) => (
  <div className="stack tight">
    <div className="row">
      <span className="grow">
        <What entry={e} />
      </span>
      <span className="small faint">
        <Time at={e.time} />
      </span>
    </div>
    <About entry={e} />
    <div className="row">
      <span className="grow small muted">
        <AgentText text={e.agent ?? "–"} line />
      </span>
      <ProofLink index={e.index} />
    </div>
  </div>
);
