import { StatusBadge } from "../../ui/Badge";
import { words } from "../../words/en";

const w = words.plans;

/** PlanStatus is how a plan stands. */
export function PlanStatus({ status }: { status: string }) {
  return <StatusBadge word={w.statuses[status] ?? status} error={status === "failed"} />;
}
