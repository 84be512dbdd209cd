import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge, VerdictBadge } from "../../ui/Badge";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { type First, noPolicyYet } from "./first";
import { starterQuery } from "./queries";

const w = words.start;

/** Arrived shows the first decision or trace, and what to do next. */
export function Arrived({ first }: { first: First }) {
  const needsPolicy = noPolicyYet(first);
  const starter = useQuery({ ...starterQuery(useOrg().id), enabled: needsPolicy }).data;
  return (
    <div className="stack tight">
      <p className="hidden-text">{first.kind === "decision" ? w.arrived : w.traceArrived}</p>
      <div className="row wrap">
        <Time at={first.at} form="clock" />
        {first.kind === "decision" ? (
          <>
            <VerdictBadge verdict={first.decision} index={first.index} />
            <ToolName server={first.server} tool={first.tool} />
            <AgentText text={first.agent} />
            <span className="muted">
              <AgentText text={first.reason} />
            </span>
            <ProofLink index={first.index} />
          </>
        ) : (
          <>
            <StatusBadge word={w.trace} />
            <Link {...linkTo(`/traces/${encodeURIComponent(first.id)}`)}>
              <AgentText text={first.name} />
            </Link>
            <AgentText text={first.agent} />
          </>
        )}
      </div>
      {needsPolicy && (
        <p>
          {w.noPolicy} {starter && w.hasStarter}
        </p>
      )}
      <div className="row wrap">
        {starter && (
          <Link className="button primary" to="/policies/$id" params={{ id: starter.id }}>
            {w.readStarter}
          </Link>
        )}
        {needsPolicy && (
          <Link className={starter ? "button" : "button primary"} to="/policies/new">
            {w.writePolicy}
          </Link>
        )}
        <Link className={needsPolicy ? "button" : "button primary"} to="/">
          {w.onward}
        </Link>
      </div>
    </div>
  );
}
