import { StatusBadge } from "../../ui/Badge";
import { Sparkline } from "../../ui/chart/Sparkline";
import { count } from "../../ui/format";
import { agents as w } from "../../words/agents";
import type { Agent } from "./queries";

/** AgentStatus is whether an agent may act. */
export function AgentStatus({ status }: { status: string }) {
  return <StatusBadge word={w.statuses[status] ?? status} error={status === "killed" || status === "suspended"} />;
}

/** Day is what an agent asked in each of the last 24 hours. */
export function Day({ agent }: { agent: Agent }) {
  if (!agent.sparkline) return <span className="faint">–</span>;
  const calls = agent.sparkline.map(Number);
  return <Sparkline values={calls} label={w.callsADay(count(calls.reduce((a, b) => a + b, 0)))} />;
}

/** midnight is when the day began that the server counts, in UTC. */
export const midnight = (now = Date.now()) => new Date(Math.floor(now / 86_400_000) * 86_400_000).toISOString();
