import { StatusBadge } from "../../ui/Badge";
import { servers as w } from "../../words/servers";
import type { Server } from "./queries";

/** ServerStatus is what a person has said of a server. */
export function ServerStatus({ status }: { status: string }) {
  return <StatusBadge word={w.statuses[status] ?? status} error={status === "denied"} />;
}

/** Health is whether a server answers. */
export function Health({ health }: { health: Server["health"] }) {
  const bad = health.status === "failing" || health.status === "unreadable";
  return <StatusBadge word={w.healths[health.status] ?? health.status} error={bad} />;
}
