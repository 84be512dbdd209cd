import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { proposals as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { type ListedProposal, proposalsQuery } from "./queries";
import "./policies.css";

/** Proposals are what plugins have proposed, the newest first. */
export function Proposals() {
  const org = useOrg();
  usePage({ name: policies.title, to: "/policies" }, { name: policies.proposals });
  const list = useQuery(proposalsQuery(org.id));
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{policies.proposals}</h1>
      </div>
      <Loaded query={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={w.noProposals}>{w.noProposalsHelp}</Empty>
          ) : (
            <section className="card">
              <ul className="lines" aria-label={policies.proposals}>
                {items.map((p) => (
                  <Line key={p.id} proposal={p} />
                ))}
              </ul>
            </section>
          )
        }
      </Loaded>
    </div>
  );
}

const Line = ({ proposal: p }: { proposal: ListedProposal }) => (
  <li>
    <Link to="/policies/proposals/$id" params={{ id: p.id }}>
      <AgentText text={p.name} short />
    </Link>
    <StatusBadge word={w.proposalStates[p.state] ?? p.state} />
    {p.active && <StatusBadge word={w.inForce} />}
    <span className="grow small muted">
      <AgentText text={p.reason} line />
    </span>
    <span className="small muted">
      <Person id={p.ownerId} /> <Time at={p.proposedAt} />
    </span>
  </li>
);
