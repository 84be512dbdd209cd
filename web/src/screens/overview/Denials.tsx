import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { ProofLink } from "../../ui/Badge";
import { Bars } from "../../ui/chart/Bars";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import type { Bounds } from "../../ui/range";
import { SkeletonLines } from "../../ui/states";
import { deciders, ruleName } from "../../words/deciders";
import { words } from "../../words/en";
import { rangeOf } from "./Numbers";
import { denialsQuery, policyNamesQuery, summaryQuery } from "./queries";

const w = words.overview;
const shown = 8;

/** Denials says what denied calls, by decider and rule, with the latest entry of each. */
export function Denials({ bounds }: { bounds: Bounds }) {
  const org = useOrg();
  const query = useQuery(denialsQuery(org.id, bounds));
  const names = useQuery(policyNamesQuery(org.id)).data;
  return (
    <section className="card stack tight">
      <h2>{w.why}</h2>
      <Loaded query={query} skeleton={<SkeletonLines lines={shown} />}>
        {({ items, total, complete }) =>
          items.length === 0 ? (
            <p className="muted">{w.noDenials}</p>
          ) : (
            <>
              <Bars
                label={w.why}
                bars={items.slice(0, shown).map((d) => ({
                  key: `${d.decidedBy} ${d.rule}`,
                  label: <Why denial={d} names={names} bounds={bounds} />,
                  value: d.count,
                  text: count(d.count),
                  end: <ProofLink index={d.lastIndex} />,
                }))}
              />
              <p className="small faint">
                {items.length > shown && w.moreDenials(items.length - shown)} {w.denialsInAll(count(total))}
                {!complete && ` ${w.partial}`}
              </p>
            </>
          )
        }
      </Loaded>
    </section>
  );
}

type Denial = Body<"DenialBody">;
interface WhyProps {
  denial: Denial;
  names: Map<string, string> | undefined;
  bounds: Bounds;
}

function Why({ denial: d, names, bounds }: WhyProps) {
  const own = deciders.why[d.decidedBy];
  const search = {
    ...rangeOf(bounds),
    decision: "deny",
    policy: d.decidedBy,
    ...(d.rule ? { rule: d.rule } : {}),
  };
  return (
    <Link className="row why" {...linkTo("/decisions", search)}>
      <span className="one-line">{own ?? <AgentText text={names?.get(d.decidedBy) ?? d.decidedBy} line />}</span>
      {d.rule && (
        <span className="small muted one-line">
          {ruleName(d.decidedBy, d.rule) ?? <AgentText text={d.rule} line />}
        </span>
      )}
    </Link>
  );
}

/** Failing ranks policies by how often they denied. */
export function Failing({ bounds }: { bounds: Bounds }) {
  const org = useOrg();
  const summary = useQuery(summaryQuery(org.id, bounds));
  const names = useQuery(policyNamesQuery(org.id)).data;
  return (
    <section className="card stack tight">
      <h2>{w.failing}</h2>
      <Loaded query={summary} skeleton={<SkeletonLines lines={5} />}>
        {({ topFailingPolicies: top }) =>
          top.length === 0 ? (
            <p className="muted">{w.noFailing}</p>
          ) : (
            <Bars
              label={w.failing}
              bars={top.map((p) => ({
                key: p.policyId,
                label: (
                  <Link {...linkTo("/decisions", { ...rangeOf(bounds), decision: "deny", policy: p.policyId })}>
                    {deciders.why[p.policyId] ?? <AgentText text={names?.get(p.policyId) ?? p.policyId} line />}
                  </Link>
                ),
                value: p.count,
                text: count(p.count),
              }))}
            />
          )
        }
      </Loaded>
    </section>
  );
}
