import { expect, it } from "vitest";
import type { Decision, SpanBody } from "./queries";
import { drawn, millisOf, withDecisions } from "./spans";

const body = (more: Partial<SpanBody>): SpanBody => ({
  id: "s",
  parentSpanId: null,
  sessionId: null,
  kind: "span",
  name: "work",
  startTime: "2026-11-09T12:00:00.000250Z",
  endTime: null,
  durationMs: null,
  status: "ok",
  costUsd: null,
  attributes: {},
  ...more,
});

it("keeps microseconds", () => {
  const at = Date.parse("2026-11-09T12:00:00Z");
  expect(millisOf("2026-11-09T12:00:00.000250Z") - at).toBeCloseTo(0.25, 6);
  expect(millisOf("2026-11-09T12:00:00Z")).toBe(at);
});

it("draws kinds, ends and verdicts; only Writ's own spans lead to an entry", () => {
  expect(drawn(body({})).end).toBeNull();
  expect(drawn(body({ durationMs: 20 })).end).toBeCloseTo(millisOf("2026-11-09T12:00:00.020250Z"), 3);
  expect(drawn(body({ facts: { toolName: "search" } })).kind).toBe("tool");
  const said = drawn(body({ kind: "policy_call", facts: { decision: "allow" } }));
  expect([said.kind, said.verdict, said.index]).toEqual(["decision", "allow", undefined]);
  expect(drawn(body({ kind: "policy_call", facts: { decision: "deny", auditIndex: 7 } })).index).toBe(7);
});

it("puts decisions below the call they were about", () => {
  const spans = [
    drawn(body({ id: "root", durationMs: 5000 })),
    drawn(body({ id: "call", parentSpanId: "root", startTime: "2026-11-09T12:00:01Z", durationMs: 1000 })),
    drawn(body({ id: "shown", kind: "policy_call", facts: { decision: "deny", auditIndex: 3 } })),
  ];
  const decision = (index: number, at: string, tool: string): Decision => ({
    index,
    id: `${index}`,
    at,
    decision: "deny",
    agentId: "a",
    server: "bank",
    tool,
    policyId: "p",
  });
  const all = withDecisions(spans, new Map([["call", "bank.pay"]]), [
    decision(3, "2026-11-09T12:00:01Z", "pay"),
    decision(4, "2026-11-09T12:00:01.5Z", "pay"),
    decision(5, "2026-11-09T12:00:04Z", "pay"),
    decision(6, "2026-11-09T13:00:00Z", "pay"),
  ]);
  expect(all.slice(3).map((s) => [s.index, s.parent])).toEqual([
    [4, "call"],
    [5, "root"],
    [6, null],
  ]);
});
