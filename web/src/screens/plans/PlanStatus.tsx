import { StatusBadge } from "../../ui/Badge";
import { words } from "../../words/en";
import type { ListedPlan } from "./queries";

const w = words.plans;

/** PlanStatus is how a plan stands. */
export function PlanStatus({ plan: p }: { plan: Pick<ListedPlan, "status" | "endedBy"> }) {
  return <StatusBadge word={w.endedBy[p.endedBy] ?? w.statuses[p.status] ?? p.status} error={p.status === "failed"} />;
}
