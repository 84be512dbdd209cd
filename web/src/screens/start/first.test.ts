import { expect, it } from "vitest";
import type { LiveEvent } from "../../live/live";
import { commandOf, type Language, sendsTraces } from "./commands";
import { firstOf, noPolicyYet } from "./first";

const trace = {
  kind: "trace",
  id: "t",
  trace: { id: "t", startTime: "2026-11-09T12:00:00Z", name: "n", agentId: "a" },
};
const decision = (by: string, verdict = "deny") => ({
  kind: "decision",
  id: "d",
  decision: {
    index: 6,
    at: "2026-11-09T12:00:00Z",
    decision: verdict,
    server: "web",
    tool: "fetch",
    agentId: "a",
    policyId: by,
  },
});
const events = (...list: unknown[]) => list as LiveEvent[];

it("takes a trace where no decision is asked for", () => {
  expect(firstOf(events({ kind: "notification", id: "n" }))).toBeUndefined();
  expect(firstOf(events(trace))).toMatchObject({ kind: "trace", name: "n" });
  expect(firstOf(events(trace, decision("p")))).toMatchObject({
    kind: "decision",
    server: "web",
    tool: "fetch",
    index: 6,
  });
});

it("says that no policy is active only where that is the reason", () => {
  const of = (by: string, verdict?: string) => {
    const first = firstOf(events(decision(by, verdict)));
    return first !== undefined && noPolicyYet(first);
  };
  expect(of("writ:default")).toBe(true);
  expect(of("writ:agent")).toBe(false);
  expect(of("0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30")).toBe(false);
  expect(of("writ:default", "allow")).toBe(false);
});

it.each(["curl", "python", "typescript", "otel", "gemini"] as Language[])("gives %s the address and the key", (l) => {
  const text = commandOf(l, "http://writ.example:8080", "ak_test_1");
  expect(text).toContain("http://writ.example:8080");
  expect(text).toContain("ak_test_1");
  if (sendsTraces.has(l)) return;
  expect(text).toContain("/iap/enforce");
  expect(text).toContain('"server":"web","tool_name":"fetch"');
});

it("sends Gemini's traces the way that Writ reads", () => {
  const text = commandOf("gemini", "http://writ.example:8080", "ak_test_1");
  expect(text).toContain("GEMINI_TELEMETRY_OTLP_PROTOCOL=http ");
  expect(text).toContain("GEMINI_TELEMETRY_TRACES_ENABLED=true");
});
