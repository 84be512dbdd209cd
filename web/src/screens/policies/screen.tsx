import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { linkTo } from "../../app/link";
import { useMay, useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { FilterBar } from "../../ui/FilterBar";
import { count } from "../../ui/format";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { policies as w } from "../../words/policies";
import { PolicyStatus } from "./parts";
import { type Listed, policiesQuery, policyQuery, proposalsQuery, statsQuery } from "./queries";
import { sentenceOf, wouldChange } from "./says";
import "./policies.css";

const route = getRouteApi("/frame/policies");
const filters = [{ name: "status", label: w.status, values: Object.entries(w.statuses) }];

const Name = ({ policy: p }: { policy: Listed }) => (
  <Link className="one-line policy-link" to="/policies/$id" params={{ id: p.id }}>
    <AgentText text={p.name} short />
  </Link>
);

// Each policy is a request of its own; only those in view are asked about.
function Does({ policy }: { policy: Listed }) {
  const org = useOrg();
  const { data } = useQuery(policyQuery(org.id, policy.id));
  const sentence = data ? sentenceOf(data) : "…";
  return (
    <span className="muted one-line policy-does" title={sentence}>
      {sentence}
    </span>
  );
}

function Hits({ policy: p, label = "" }: { policy: Listed; label?: string }) {
  const org = useOrg();
  const { data } = useQuery(statsQuery(org.id, p.id));
  if (!data) return <span className="faint">–</span>;
  // The log lists what a policy refused, not all that it decided: the number would open another list.
  return <span>{`${label} ${count(data.calls)}`.trim()}</span>;
}

function Would({ policy: p, label = "" }: { policy: Listed; label?: string }) {
  const org = useOrg();
  const { data } = useQuery(statsQuery(org.id, p.id));
  const n = data && wouldChange(data);
  if (n === undefined) return label ? null : <span className="faint">–</span>;
  return (
    <Link {...linkTo("/policies/$id", { tab: "shadow" })} params={{ id: p.id } as never}>
      {`${label} ${count(n)}`.trim()}
    </Link>
  );
}

const versionOf = (p: Listed) => w.versionOf(p.activeVersion, p.policyVersion);

const columns: Column<Listed>[] = [
  { id: "name", head: w.columns.name, width: "minmax(140px, 1fr)", cell: (p) => <Name policy={p} /> },
  { id: "does", head: w.columns.does, width: "minmax(200px, 3fr)", cell: (p) => <Does policy={p} /> },
  { id: "state", head: w.columns.state, width: "minmax(120px, 1fr)", cell: (p) => <PolicyStatus policy={p} /> },
  { id: "version", head: w.columns.version, width: "104px", cell: versionOf },
  { id: "hits", head: w.columns.hits, width: "80px", number: true, cell: (p) => <Hits policy={p} /> },
  { id: "would", head: w.columns.would, width: "104px", number: true, cell: (p) => <Would policy={p} /> },
  { id: "changed", head: w.columns.changed, width: "88px", cell: (p) => <Time at={p.updatedAt} /> },
];

const keyOf = (p: Listed) => p.id;
const nothing: Listed[] = [];

/** Policies lists what judges calls, and the drafts of it. */
export function Policies() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/policies" });
  const list = useQuery(policiesQuery(org.id, status));
  const rows = list.data?.items ?? nothing;
  useNeighbours("/policies", rows, keyOf);
  const mayDraft = useMay("policies.draft");
  const narrow = (change: object) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  const open = useCallback(
    (p: Listed) => void navigate({ to: "/policies/$id", params: { id: p.id }, search: {} }),
    [navigate],
  );
  const make = () => void navigate({ to: "/policies/new", search: {} });
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        <Button look="primary" refused={mayDraft} onClick={make}>
          {w.make}
        </Button>
      </div>
      <OpenProposals />
      <div className="row wrap">
        <span className="grow">
          <FilterBar filters={filters} value={{ status }} onChange={narrow} />
        </span>
        <span className="small faint">{w.figuresMean}</span>
      </div>
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
        cut={list.data?.hasMore ?? false}
        empty={
          status ? (
            <Empty
              title={w.noneMatch}
              action={<Button onClick={() => narrow({ status: undefined })}>{words.ui.clear}</Button>}
            />
          ) : (
            <Empty
              title={w.none}
              action={
                <Button refused={mayDraft} onClick={make}>
                  {w.make}
                </Button>
              }
            >
              {w.noneHelp}
            </Empty>
          )
        }
      />
    </div>
  );
}

function OpenProposals() {
  const org = useOrg();
  const open = useQuery(proposalsQuery(org.id, "open")).data?.items ?? [];
  return (
    <p className={open.length > 0 ? "notice" : "small"}>
      {open.length > 0 && <span>{w.openProposals(count(open.length))}</span>}
      <Link to="/policies/proposals">{open.length > 0 ? w.readProposals : w.proposals}</Link>
    </p>
  );
}

const card = (p: Listed) => (
  <div className="stack tight">
    <div className="row">
      <span className="grow">
        <Name policy={p} />
      </span>
      <span className="small muted">{versionOf(p)}</span>
    </div>
    <Does policy={p} />
    <div className="row wrap small">
      <PolicyStatus policy={p} />
      <Hits policy={p} label={w.columns.hits} />
      <Would policy={p} label={w.columns.would} />
    </div>
  </div>
);
