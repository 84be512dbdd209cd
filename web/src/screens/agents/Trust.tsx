import { useQueries, useQuery } from "@tanstack/react-query";
import { useOrg } from "../../app/org";
import { chainQuery, treesOf } from "../../app/trust/queries";
import { TrustTree } from "../../app/trust/TrustTree";
import { Loaded } from "../../ui/Loaded";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { agents as w } from "../../words/agents";
import { plansQuery } from "./queries";

/** Trust is from whom an agent has its authority, and to whom it gave a part of it. */
export function Trust({ id }: { id: string }) {
  const org = useOrg();
  const plans = useQuery(plansQuery(org.id, id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.trustMeans}</p>
      <Loaded query={plans}>{({ items }) => <Trees plans={items.map((p) => p.id)} />}</Loaded>
    </section>
  );
}

function Trees({ plans }: { plans: string[] }) {
  const org = useOrg();
  const chains = useQueries({ queries: plans.map((plan) => chainQuery(org.id, plan)) });
  const failed = chains.find((chain) => chain.error);
  if (failed) return <ErrorPanel error={failed.error} retry={() => void failed.refetch()} />;
  if (chains.some((chain) => chain.isPending)) return <SkeletonLines lines={4} />;
  const trees = treesOf(chains.map((chain) => chain.data));
  if (trees.length === 0) return <p>{w.noTrust}</p>;
  return trees.map((tree) => <TrustTree key={tree.rootId} tree={tree} />);
}
