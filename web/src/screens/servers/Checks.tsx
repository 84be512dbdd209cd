import { useQuery } from "@tanstack/react-query";
import type { Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { duration, percent } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { servers as w } from "../../words/servers";
import { Health } from "./parts";
import { healthQuery, type Server } from "./queries";

type Answered = Body<"MCPHealthBody">;
const shownFailures = 10;

/** Checks are how a server answers, and how it answered before. */
export function Checks({ server }: { server: Server }) {
  const org = useOrg();
  const health = useQuery(healthQuery(org.id, server.mcpId));
  return (
    <section className="card stack tight">
      <Loaded query={health}>{(found) => <Shown health={found} />}</Loaded>
    </section>
  );
}

function Shown({ health: h }: { health: Answered }) {
  const failures = h.history.filter((c) => !c.healthy);
  return (
    <>
      <div className="row wrap">
        <Health health={h} />
        {h.since && (
          <span className="small muted">
            {w.since} <Time at={h.since} form="absolute" />
          </span>
        )}
      </div>
      <dl className="facts">
        <dt>{w.checked}</dt>
        <dd>{h.checkedAt ? <Time at={h.checkedAt} form="absolute" /> : w.noChecks}</dd>
        <dt>{w.latency}</dt>
        <dd>{duration(Number(h.latencyMs))}</dd>
        <dt>{w.every}</dt>
        <dd>{h.watched ? duration(Number(h.everySeconds) * 1000) : w.notWatched}</dd>
        {h.uptime !== null && (
          <>
            <dt>{w.uptime}</dt>
            <dd>{w.uptimeOf(percent(Number(h.uptime), 1), h.history.length)}</dd>
          </>
        )}
      </dl>
      {h.history.length > 0 && (
        <div className="checks" role="img" aria-label={w.history(h.history.length - failures.length, failures.length)}>
          {[...h.history].reverse().map((c, i) => (
            <span key={i} className={c.healthy ? "check-fine" : "check-bad"} />
          ))}
        </div>
      )}
      {failures.length > 0 && (
        <>
          <h3>{w.failures}</h3>
          <ul className="lines">
            {failures.slice(0, shownFailures).map((c) => (
              <li key={c.at}>
                <Time at={c.at} form="absolute" />
                <span className="grow">
                  <AgentText text={c.problem} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
