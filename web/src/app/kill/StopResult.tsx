import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { AgentText } from "../../ui/AgentText";
import { ProofLink } from "../../ui/Badge";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { kill as w } from "../../words/acts";
import { useMe, useOrg } from "../org";
import { Person } from "../people";
import { hasLast, type LastAllow, lastAllowQuery, type Stop } from "./queries";

const shownAgents = 20;

/** StopResult is what the server answered to a kill: its entry, what stops with it, and what may still run. */
export function StopResult({ stop }: { stop: Stop }) {
  const me = useMe();
  // The count is there where the list is cut.
  const keys = Math.max(stop.keyCount ?? 0, stop.keys.length);
  return (
    <>
      <p className="kill-done">
        {w.stoppedAt} <ProofLink index={stop.index} />
      </p>
      {stop.unseen && (
        <p role="alert" className="wrong-text row">
          <TriangleAlert size={16} aria-hidden /> {w.unseen}
        </p>
      )}
      {hasLast(stop) && <Last stop={stop} />}
      {stop.stoppedBy !== me.user.id && (
        <p>
          {w.earlier} <StoppedBy stop={stop} />: <AgentText text={stop.reason} />
        </p>
      )}
      {keys > 0 && <p>{w.keysStop(count(keys))}</p>}
      {stop.agents.length > 0 && (
        <div>
          {w.agentsStop}
          <AgentNames ids={stop.agents} />
        </div>
      )}
      {stop.leasesEndAt && (
        <p>
          {w.leases} <Time at={stop.leasesEndAt} form="absolute" />.
        </p>
      )}
      {stop.plansEndAt && (
        <p>
          {w.plans} <Time at={stop.plansEndAt} form="absolute" />.
        </p>
      )}
      {stop.openElsewhere ? <p>{w.open(stop.openElsewhere)}</p> : null}
    </>
  );
}

/** AgentNames are the agents that stop with something, the first of them. */
export function AgentNames({ ids }: { ids: string[] }) {
  return (
    <ul className="kill-agents">
      {ids.slice(0, shownAgents).map((id) => (
        <li key={id}>
          <AgentText text={id} short />
        </li>
      ))}
      {ids.length > shownAgents && <li>{w.more(ids.length - shownAgents)}</li>}
    </ul>
  );
}

/** StoppedBy is who stopped something. */
export function StoppedBy({ stop }: { stop: Pick<Stop, "stoppedBy" | "trip"> }) {
  if (stop.stoppedBy) return <Person id={stop.stoppedBy} />;
  return <>{stop.trip ? w.byTrip : w.elsewhere}</>;
}

// The page proves what it says: the last allow of the log is read after the kill was answered.
function Last({ stop }: { stop: Stop }) {
  const org = useOrg();
  const last = useQuery(lastAllowQuery(org.id, stop));
  return (
    <Loaded query={last} skeleton={<p className="muted">{w.reading}</p>}>
      {(found) => <LastLine found={found} />}
    </Loaded>
  );
}

function LastLine({ found }: { found: LastAllow }) {
  switch (found.is) {
    case "before":
      return (
        <p>
          {w.lastAllow} <ProofLink index={found.index} />
        </p>
      );
    case "behind":
      return (
        <p role="alert" className="wrong-text row">
          <TriangleAlert size={16} aria-hidden /> {w.behind} <ProofLink index={found.index} />
        </p>
      );
    default:
      return <p>{found.is === "none" ? w.noAllow : w.since}</p>;
  }
}
