import { useQuery } from "@tanstack/react-query";
import { useOrg } from "../../app/org";
import { chainQuery, hasMore } from "../../app/trust/queries";
import { TrustTree } from "../../app/trust/TrustTree";
import { Loaded } from "../../ui/Loaded";
import { words } from "../../words/en";
import type { Plan } from "./queries";

const w = words.plans;

/** Delegations is who got a part of a plan from whom, and its versions. A plan without either has no such section. */
export function Delegations({ plan }: { plan: Plan }) {
  const org = useOrg();
  const tree = useQuery(chainQuery(org.id, plan.id));
  if (!tree.data ? !tree.error : !hasMore(tree.data)) return null;
  return (
    <section className="card stack tight" id="delegations">
      <h2>{w.delegations}</h2>
      <p className="muted">{w.delegationsHelp}</p>
      <Loaded query={tree}>{(found) => <TrustTree tree={found} />}</Loaded>
    </section>
  );
}
