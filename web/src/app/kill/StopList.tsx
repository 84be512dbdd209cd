import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { kill as w } from "../../words/acts";
import { useOrg } from "../org";
import { LiftDialog } from "./LiftDialog";
import { isSame, type Stop, stopsQuery, useMayKill } from "./queries";
import { StoppedBy } from "./StopResult";
import "./kill.css";

/** StopList is what is stopped now, and the way to lift it. It takes no room where nothing is. */
export function StopList({ wanted }: { wanted?: (stop: Stop) => boolean }) {
  const org = useOrg();
  const stops = useQuery(stopsQuery(org.id));
  const [lifting, setLifting] = useState<Stop>();
  return (
    <>
      <Loaded query={stops} skeleton={null}>
        {(all) => {
          const shown = wanted ? all.filter(wanted) : all;
          return shown.length === 0 ? null : (
            <section className="kill-stops" aria-label={w.stoppedNow}>
              {shown.map((stop) => (
                <StopLine key={stop.index} stop={stop} onLift={() => setLifting(latestOf(all, stop))} />
              ))}
            </section>
          );
        }}
      </Loaded>
      {lifting && <LiftDialog stop={lifting} onClose={() => setLifting(undefined)} />}
    </>
  );
}

// Lifting is for all stops of a subject: what was seen of them is the latest.
const latestOf = (all: readonly Stop[], stop: Stop) =>
  all.filter((s) => isSame(s, stop)).reduce((a, b) => (b.index > a.index ? b : a), stop);

function StopLine({ stop, onLift }: { stop: Stop; onLift: () => void }) {
  const refused = useMayKill();
  return (
    <div className="kill-stop">
      <StatusBadge word={stop.trip ? w.trip(w.trips[stop.trip] ?? stop.trip) : w.stoppedNow} error />
      <span className="grow">
        <span className="muted">{w.names[stop.scope] ?? stop.scope}</span>{" "}
        <strong>{stop.subject ? <AgentText text={stop.subject} short /> : w.whole}</strong>
        <span className="small muted kill-why">
          {w.killedBy} <StoppedBy stop={stop} />, <Time at={stop.stoppedAt} />: <AgentText text={stop.reason} />
        </span>
      </span>
      <ProofLink index={stop.index} />
      <Button refused={refused} onClick={onLift}>
        {stop.scope === "agent" ? w.revive : w.lift}
      </Button>
    </div>
  );
}
