// To whom policies, keys and trips of an agent belong.
import type { Agent, Bound, Trips } from "./queries";

export type How = "agent" | "key" | "everybody" | "others";

/** howBound is how a policy comes to apply to an agent; undefined: it names other agents and keys only. */
export function howBound(
  { bindings }: Pick<Bound, "bindings">,
  agent: Pick<Agent, "agentId" | "keys" | "seenKeys">,
): How | undefined {
  const { clients, members, roles } = bindings;
  if (clients.includes(agent.agentId)) return "agent";
  if (keysOf(agent).some((id) => clients.includes(id))) return "key";
  if (members.length + roles.length > 0) return "others";
  return clients.length === 0 ? "everybody" : undefined;
}

/** keysOf are the keys that stop with an agent: those bound to it or, if none are, those that its id was sent with. */
export const keysOf = (agent: Pick<Agent, "keys" | "seenKeys">): string[] =>
  agent.keys.length > 0 ? agent.keys : (agent.seenKeys ?? []);

export interface Trip {
  name: keyof Trips;
  /** The kind of finding that is counted. */
  kind?: string;
  limit: number;
  of: "agent" | "organization" | "off";
}

const counted = ["costPerDay", "callsPerMinute", "denialsPerMinute", "rejectedInARow"] as const;

/** tripsOf are the trips of an agent: a number that it does not have is the organization's, and 0 is off. */
export function tripsOf(agent: Trips | undefined, organization: Trips | undefined): Trip[] {
  const from = (own: number | undefined, wide: number | undefined): Pick<Trip, "limit" | "of"> => {
    const limit = Number(own ?? wide ?? 0);
    return { limit, of: limit === 0 ? "off" : own === undefined ? "organization" : "agent" };
  };
  const kinds = new Set([
    ...Object.keys(agent?.findingsPerDay ?? {}),
    ...Object.keys(organization?.findingsPerDay ?? {}),
  ]);
  return [
    ...counted.map((name) => ({ name, ...from(agent?.[name], organization?.[name]) })),
    ...[...kinds].sort().map((kind) => ({
      name: "findingsPerDay" as const,
      kind,
      ...from(agent?.findingsPerDay?.[kind], organization?.findingsPerDay?.[kind]),
    })),
  ];
}
