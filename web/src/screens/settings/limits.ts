// The numbers of an organization's agents, as a form has them: texts, empty where nothing is set.
import type { Body } from "../../api/client";

type Settings = Body<"AgentSettingsBody">;
export type Trips = NonNullable<Settings["trips"]>;

export const counted = ["costPerDay", "callsPerMinute", "denialsPerMinute", "rejectedInARow"] as const;
export type Counted = (typeof counted)[number];

export interface Limits {
  trips: Record<Counted, string>;
  /** By the kind of finding. */
  findings: Record<string, string>;
  lease: string;
}

const textOf = (n: number | undefined) => (n === undefined || n === 0 ? "" : String(n));

/** limitsOf is what the form begins with; kinds are those of findings. */
export function limitsOf({ trips, leaseSeconds }: Settings, kinds: readonly string[]): Limits {
  return {
    trips: Object.fromEntries(counted.map((name) => [name, textOf(trips?.[name])])) as Limits["trips"],
    findings: Object.fromEntries(kinds.map((kind) => [kind, textOf(trips?.findingsPerDay?.[kind])])),
    lease: String(leaseSeconds ?? 0),
  };
}

/** tripsOf is what the server is told: all trips, for those that are left out end. */
export function tripsOf({ trips, findings }: Limits): Trips {
  const set = (texts: Record<string, string>) =>
    Object.entries(texts).flatMap(([name, text]) => (text.trim() ? [[name, Number(text)] as const] : []));
  const perKind = set(findings);
  return {
    ...Object.fromEntries(set(trips)),
    ...(perKind.length > 0 ? { findingsPerDay: Object.fromEntries(perKind) } : {}),
  };
}
