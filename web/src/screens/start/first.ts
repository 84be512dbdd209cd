// The first thing that an agent did: a decision that it asked for, or a trace that it sent.
import type { LiveEvent } from "../../live/live";

export type First =
  | {
      kind: "decision";
      index: number;
      at: string;
      decision: string;
      server: string;
      tool: string;
      agent: string;
      reason: string;
      by: string;
    }
  | { kind: "trace"; id: string; at: string; name: string; agent: string };

/** firstOf is the first event that shows an agent at work; a decision counts more than the trace of the same call. */
export function firstOf(events: LiveEvent[]): First | undefined {
  let first: First | undefined;
  for (const e of events) {
    if (e.kind === "decision") {
      const d = e.decision;
      return {
        kind: "decision",
        index: d.index,
        at: d.at,
        decision: d.decision,
        server: d.server ?? "",
        tool: d.tool,
        agent: d.agentId,
        reason: d.reason ?? "",
        by: d.policyId ?? "",
      };
    }
    if (e.kind === "trace") {
      first ??= { kind: "trace", id: e.trace.id, at: e.trace.startTime, name: e.trace.name, agent: e.trace.agentId };
    }
  }
  return first;
}

/** noPolicyYet: nothing decided but the absence of every policy. */
export const noPolicyYet = (first: First) =>
  first.kind === "decision" && first.decision === "deny" && first.by === "writ:default";
