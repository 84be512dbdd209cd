import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { KeyChip } from "../../app/KeyChip";
import { agentSettingsQuery } from "../../app/kill/queries";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { kill } from "../../words/acts";
import { agents as w } from "../../words/agents";
import { words } from "../../words/en";
import { type How, howBound, type Trip, tripsOf } from "./bind";
import { type Agent, type Bound, keysQuery, leasesQuery, mostPolicies, policiesQuery } from "./queries";

const howWords: Record<How, string> = {
  agent: w.boundToIt,
  key: w.boundToKey,
  everybody: w.everybody,
  others: w.boundToOthers,
};

/** Policies are those that bind an agent. */
export function Policies({ agent }: { agent: Agent }) {
  const org = useOrg();
  const policies = useQuery(policiesQuery(org.id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.policiesMean}</p>
      <Loaded query={policies}>
        {({ items, cut }) => {
          const bound = items.flatMap((p) => {
            const how = howBound(p, agent);
            return how ? [{ policy: p, how }] : [];
          });
          return (
            <>
              {bound.length === 0 && !cut && <p>{w.noPolicies}</p>}
              <ul className="lines" aria-label={w.tabs.policies}>
                {bound.map(({ policy, how }) => (
                  <PolicyLine key={policy.id} policy={policy} how={how} />
                ))}
              </ul>
              {cut && <p className="small muted">{w.policiesCut(mostPolicies)}</p>}
              <p>
                <Link {...linkTo("/policies/new", { from: "agent", agent: agent.agentId })}>{w.suggestPolicy}</Link>
              </p>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function PolicyLine({ policy: p, how }: { policy: Bound; how: How }) {
  return (
    <li>
      <Link className="grow" to="/policies/$id" params={{ id: p.id }}>
        <AgentText text={p.name} short />
      </Link>
      {p.activeVersion != null && <span className="small muted">{w.version(Number(p.activeVersion))}</span>}
      <span className="small muted">{howWords[how]}</span>
      <IdChip id={p.id} />
    </li>
  );
}

/** Keys are the keys of an agent, and those that its id was sent with. */
export function Keys({ agent: a }: { agent: Agent }) {
  const org = useOrg();
  const mayRead = org.rights.includes("keys.own");
  const names = useQuery({ ...keysQuery(org.id), enabled: mayRead }).data;
  const ids = [...new Set([...a.keys, ...(a.seenKeys ?? [])])];
  const stopped = new Set(a.stoppedKeys ?? []);
  return (
    <section className="card stack tight">
      <p className="small muted">{a.keys.length > 0 ? w.keysMean : w.noBound}</p>
      {ids.length === 0 && <p>{w.noKeys}</p>}
      <ul className="lines" aria-label={w.tabs.keys}>
        {ids.map((id) => (
          <li key={id}>
            <span className="grow">
              {names?.get(id) ? <AgentText text={names.get(id)?.name ?? ""} short /> : <KeyChip id={id} />}
            </span>
            {names?.get(id) && <KeyChip id={id} />}
            {stopped.has(id) && <StatusBadge word={w.stopped} error />}
            <span className="small muted">{a.keys.includes(id) ? w.bound : w.sent}</span>
          </li>
        ))}
      </ul>
      {mayRead && (
        <p>
          <Link to="/settings/keys">{w.toKeys}</Link>
        </p>
      )}
    </section>
  );
}

/** Leases are those of an agent that have not ended. */
export function Leases({ id }: { id: string }) {
  const org = useOrg();
  const leases = useQuery(leasesQuery(org.id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.leasesMean}</p>
      <Loaded query={leases}>
        {({ items }) => {
          const own = items.filter((l) => l.agentId === id);
          if (own.length === 0) return <p>{w.noLeases}</p>;
          return (
            <ul className="lines" aria-label={w.tabs.leases}>
              {own.map((l) => (
                <li key={l.leaseId}>
                  <span className="grow row wrap">
                    {l.tools.map((t, i) => (
                      <span key={i} className="badge neutral">
                        <ToolName server={t.server} tool={t.tool} />
                      </span>
                    ))}
                  </span>
                  <span className="small muted">
                    {w.ends} <Time at={l.expiresAt} form="ends" />
                  </span>
                  {l.userId && (
                    <span className="small muted">
                      {w.forUser} <AgentText text={l.userId} short />
                    </span>
                  )}
                  <KeyChip id={l.keyId} />
                  <ProofLink index={l.index} />
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function limitOf({ name, limit }: Trip): string {
  if (name === "costPerDay") return w.perDay(money(limit));
  if (name === "findingsPerDay") return w.aDay(count(limit));
  return name === "rejectedInARow" ? w.inARow(count(limit)) : w.perMinute(count(limit));
}

/** TripList is what stops an agent without a person. */
export function TripList({ agent }: { agent: Agent }) {
  const org = useOrg();
  const settings = useQuery(agentSettingsQuery(org.id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.tripsMean}</p>
      <Loaded query={settings}>
        {({ trips }) => (
          <dl className="facts">
            {tripsOf(agent.trips, trips).map((trip) => (
              <TripFact key={`${trip.name} ${trip.kind ?? ""}`} trip={trip} />
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  );
}

function TripFact({ trip }: { trip: Trip }) {
  return (
    <>
      <dt>
        {kill.trips[trip.name]}
        {trip.kind && <>: {words.findings.kinds[trip.kind] ?? trip.kind}</>}
      </dt>
      <dd>{trip.of === "off" ? w.tripOf.off : `${limitOf(trip)}, ${w.tripOf[trip.of]}`}</dd>
    </>
  );
}
