import { expect, it } from "vitest";
import type { ListedReplay, Policy, Replay } from "./queries";
import { agentsOf, countsFor, hasNoTests, isSafe, markOf, refuses, sentenceOf, testOf, withTest } from "./says";

const rule = (effect: string, ...tools: string[]) => ({ id: "r", effect, tools }) as Policy["rules"][number];

it("says what a policy does", () => {
  expect(sentenceOf({ default: "deny", rules: [] })).toBe("Denies by default.");
  expect(
    sentenceOf({ default: "allow", rules: [rule("allow", "a.b"), rule("deny", "a.*", "b.*"), rule("deny", "c.d")] }),
  ).toBe("Allows by default. Denies 3 kinds of tools, allows 1 kind of tools.");
});

it("knows which rules refuse: only what these decided is listed by policy", () => {
  const p = { default: "deny", rules: [rule("allow", "a.b"), { ...rule("hold", "c.d"), id: "h" }] } as Policy;
  expect(["r", "h", "default"].map((id) => refuses(p, id))).toEqual([false, true, true]);
  expect(refuses({ ...p, default: "allow" }, "default")).toBe(false);
});

it("finds the place of a problem", () => {
  expect(markOf({ field: "rules[0].when", message: "line 10, column 11, rule large: no such key" })).toEqual({
    line: 10,
    column: 11,
    severity: "error",
    message: "rules[0].when: no such key",
  });
  expect(markOf({ field: "document", message: "must be text" })).toMatchObject({ line: 1, message: "must be text" });
});

it("counts a replay only for what it tried", () => {
  const p = { id: "p", policyVersion: 2, activatedAt: "2026-11-01T00:00:00Z" } as Policy;
  const r = { state: "done", policyId: "p", policyVersion: 2, startedAt: "2026-11-02T00:00:00Z" } as ListedReplay;
  expect(countsFor(r, p)).toBe(true);
  expect(countsFor({ ...r, policyVersion: 1 }, p)).toBe(false);
  expect(countsFor({ ...r, state: "cancelled" }, p)).toBe(false);
  expect(countsFor({ ...r, without: ["x"] }, p)).toBe(false);
  expect(countsFor({ ...r, startedAt: "2026-10-31T00:00:00Z" }, p)).toBe(false);
  expect(countsFor({ ...r, policyId: null } as ListedReplay, p)).toBe(false);
});

it("is safe only if nothing newly runs and all is known", () => {
  const of = (looser: number, unknown: number) =>
    ({ report: { counts: { looser, unknown }, changes: [] } }) as unknown as Replay;
  expect([isSafe(of(0, 0)), isSafe(of(1, 0)), isSafe(of(0, 1)), isSafe({ report: null } as Replay)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

it("names the agents that are hit", () => {
  const change = (agent: string, count: number, drafted = "deny") => ({ agent, count, today: "allow", drafted });
  const changes = [change("a", 1), change("b", 4), change("a", 2), change("c", 9, "allow")];
  expect(agentsOf({ report: { changes } } as unknown as Replay)).toEqual([
    ["b", 4],
    ["a", 3],
  ]);
});

it("knows an empty list of tests", () => {
  for (const none of ["policy: p.yaml\ntests: []\n", "tests: [ ]\npolicy: p.yaml\n", "policy: p.yaml\ntests:\n"])
    expect(hasNoTests(none), none).toBe(true);
  for (const some of ["tests:\n  - name: x\n", "policy: p.yaml\ntests: [{name: x}]\n", "policy: p.yaml\n", ""])
    expect(hasNoTests(some), some).toBe(false);
});

it("adds a test where the list of tests ends", () => {
  const test = testOf('a "large" one', { tool: "t", arguments: { n: 1 } }, "hold", "large");
  expect(withTest("policy: p.yaml\ntests:\n", test)).toBe(`policy: p.yaml\ntests:\n${test}`);
  expect(withTest("policy: p.yaml\ntests: []\n", test)).toBe(`policy: p.yaml\ntests:\n${test}`);
  expect(withTest("tests:\n  - name: x\npolicy: p.yaml\n", test)).toBeUndefined();
  expect(withTest("policy: p.yaml\n", test)).toBeUndefined();
});
