import { expect, it } from "vitest";
import { howBound, keysOf, tripsOf } from "./bind";
import { midnight } from "./parts";

const agent = { agentId: "billing", keys: ["k1"], seenKeys: ["k1", "k2"] };
const bound = (clients: string[], members: string[] = [], roles: string[] = []) => ({
  bindings: { clients, members, roles },
});

it("says how a policy comes to bind an agent", () => {
  expect(howBound(bound([]), agent)).toBe("everybody");
  expect(howBound(bound(["other", "billing"]), agent)).toBe("agent");
  expect(howBound(bound(["k1"]), agent)).toBe("key");
  expect(howBound(bound([], [], ["admin"]), agent)).toBe("others");
  expect(howBound(bound(["other"], ["m"]), agent)).toBe("others");
  expect(howBound(bound(["other", "k2"]), agent)).toBeUndefined();
});

it("counts bound keys, or else those that the id was sent with", () => {
  expect(keysOf(agent)).toEqual(["k1"]);
  expect(keysOf({ keys: [], seenKeys: ["k2"] })).toEqual(["k2"]);
  expect(keysOf({ keys: [], seenKeys: null })).toEqual([]);
});

it("takes a trip from the organization unless the agent has its own, and 0 is off", () => {
  const trips = tripsOf(
    { callsPerMinute: 0, findingsPerDay: { lease_gap: 2 } },
    { callsPerMinute: 100, denialsPerMinute: 5, findingsPerDay: { sequence_gap: 1 } },
  );
  expect(trips).toEqual([
    { name: "costPerDay", limit: 0, of: "off" },
    { name: "callsPerMinute", limit: 0, of: "off" },
    { name: "denialsPerMinute", limit: 5, of: "organization" },
    { name: "rejectedInARow", limit: 0, of: "off" },
    { name: "findingsPerDay", kind: "lease_gap", limit: 2, of: "agent" },
    { name: "findingsPerDay", kind: "sequence_gap", limit: 1, of: "organization" },
  ]);
});

it("counts a day as the server does, in UTC", () => {
  expect(midnight(Date.parse("2026-11-17T23:59:59Z"))).toBe("2026-11-17T00:00:00.000Z");
});
