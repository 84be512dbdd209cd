import { StatusBadge } from "../../ui/Badge";
import { words } from "../../words/en";

const w = words.plans;

/** PlanStatus is how a plan stands. */
export function PlanStatus({ status, revoked }: { status: string; revoked?: boolean }) {
  return <StatusBadge word={revoked ? w.revoked : (w.statuses[status] ?? status)} error={status === "failed"} />;
}
