import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { policies as w } from "../../words/policies";
import { findingsQuery, type Policy, usualDays } from "./queries";

/** FindingsTab are rules that never apply or permit too much. */
export function FindingsTab({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  // Whoever sees how conditions turn out learns what others sent.
  const days = (org.rights as string[]).includes("payloads.read") ? usualDays : undefined;
  const found = useQuery(findingsQuery(org.id, p.id, p.policyVersion, days));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.findingsMean}</p>
      <Loaded query={found}>
        {(f) => (
          <>
            {f.findings.length === 0 && <p>{w.noFindings}</p>}
            <ul className="lines" aria-label={w.tabs.findings}>
              {f.findings.map((x, i) => (
                <li key={i}>
                  <StatusBadge word={w.kindsOf[x.kind] ?? x.kind} error />
                  {x.rule && (
                    <strong>
                      {w.rule} <AgentText text={x.rule} short />
                    </strong>
                  )}
                  <span className="grow">
                    <AgentText text={x.message} />{" "}
                    <span className="small muted">
                      {w.fix} <AgentText text={x.fix} />
                    </span>
                  </span>
                  {x.line !== undefined && (
                    <Link to="." search={((old: object) => ({ ...old, tab: undefined, line: x.line })) as never}>
                      {w.showThere}
                    </Link>
                  )}
                </li>
              ))}
            </ul>
            <p className="small muted">
              {days ? w.examined(count(f.calls)) : w.notExamined} {f.incomplete && w.incomplete}
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
}
