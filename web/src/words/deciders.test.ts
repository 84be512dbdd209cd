import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { deciders, ruleName } from "./deciders";

const sourceOf = (path: string) => readFileSync(new URL(`../../../internal/${path}`, import.meta.url), "utf8");
const found = (path: string, form: RegExp) => [...sourceOf(path).matchAll(form)].map((m) => m[1] ?? "");

it("names every part of the server that decides beside policies", () => {
  const ids = found("policy/reserved.go", /"(writ:\w+)"/g);
  expect(ids.length).toBeGreaterThan(3);
  expect(ids.filter((id) => !deciders.names[id] || !deciders.why[id])).toEqual([]);
});

it("says every rule of theirs in words", () => {
  const rules = [
    ...found("intent/plan/check.go", /Drift = "(\w+)"/g),
    ...found("mcp/standing.go", /Rule\w+\s+= "(\w+)"/g),
    ...found("enforcement/agent.go", /policy\.ByAgent, "(\w+)"/g),
    ...found("enforcement/approve.go", /policy\.ByApproval, "(\w+)"/g),
  ];
  expect(rules.length).toBeGreaterThan(20);
  expect(rules.filter((rule) => !deciders.rules[rule])).toEqual([]);
});

it("leaves the rules of policies as people named them", () => {
  expect(ruleName("writ:intent", "arguments")).toBe("other arguments than planned");
  expect(ruleName("0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "arguments")).toBeUndefined();
  expect(ruleName("0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "default")).toBe("no rule matches");
});
