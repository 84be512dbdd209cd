import { Link } from "@tanstack/react-router";
import { linkTo } from "../../app/link";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge, VerdictBadge } from "../../ui/Badge";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { type First, noPolicyYet } from "./first";

const w = words.start;

/** Arrived shows the first decision or trace, and what to do next. */
export function Arrived({ first }: { first: First }) {
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
      {noPolicyYet(first) && <p>{w.noPolicy}</p>}
      <div className="row wrap">
        <Link className="button primary" to="/">
          {w.onward}
        </Link>
      </div>
    </div>
  );
}
