// What is read from policies and answers, in short. Pure.

import type { Mark } from "../../ui/editor/view";
import { policies as w } from "../../words/policies";
import type { ListedReplay, Policy, Replay, Stats } from "./queries";

const longest = 3;

/** sentenceOf says what a policy does: its default, and how many patterns each effect has. */
export function sentenceOf(p: Pick<Policy, "default" | "rules">): string {
  const counts = new Map<string, number>();
  for (const rule of p.rules) counts.set(rule.effect, (counts.get(rule.effect) ?? 0) + rule.tools.length);
  const parts = ["deny", "hold", "ask", "allow"]
    .flatMap((effect) => (counts.has(effect) ? [[effect, counts.get(effect) ?? 0] as const] : []))
    .map(([effect, n], i) => {
      const verb = w.effects[effect] ?? effect;
      return `${i === 0 ? verb.charAt(0).toUpperCase() + verb.slice(1) : verb} ${w.toolsOf(n)}`;
    });
  return w.does(w.fallbacks[p.default] ?? "", parts.slice(0, longest + 1));
}

/** refuses reports whether what a rule decided is a refusal: deny, hold or ask. "default" is what decides without a rule. */
export const refuses = (p: Pick<Policy, "default" | "rules">, ruleId: string): boolean =>
  (ruleId === "default" ? p.default : p.rules.find((rule) => rule.id === ruleId)?.effect) !== "allow";

/** wouldChange is how many calls shadows would have answered otherwise. */
export const wouldChange = (s: Stats) =>
  s.shadow ? s.shadow.wouldDeny + s.shadow.wouldHold + s.shadow.wouldAllow : undefined;

const place = /^line (\d+), column (\d+)(?:, rule [^:]*)?: /;

/** markOf is a problem of a document, as the server words it, with its place. */
export function markOf({ field, message }: { field: string; message: string }): Mark {
  const found = place.exec(message);
  const rest = found ? message.slice(found[0].length) : message;
  return {
    line: Number(found?.[1] ?? 1),
    column: Number(found?.[2] ?? 1),
    severity: "error",
    message: field === "document" ? rest : `${field}: ${rest}`,
  };
}

/**
 * countsFor reports whether a replay tells what activating a version would do: it is done, is of that version and of
 * nothing else, and what is active was active then.
 */
export const countsFor = (r: ListedReplay, p: Policy): boolean =>
  r.state === "done" &&
  r.policyId === p.id &&
  r.policyVersion === p.policyVersion &&
  (r.without ?? []).length === 0 &&
  (!p.activatedAt || Date.parse(r.startedAt) > Date.parse(p.activatedAt));

/** isSafe reports whether a replay shows that no call newly runs, as far as that can be known. */
export const isSafe = (r: Replay): boolean =>
  r.report != null && r.report.counts.looser === 0 && r.report.counts.unknown === 0;

/** agentsOf are the agents whose calls change, the most first. */
export function agentsOf(r: Replay): [agent: string, calls: number][] {
  const hit = new Map<string, number>();
  for (const c of r.report?.changes ?? [])
    if (c.today !== c.drafted) hit.set(c.agent, (hit.get(c.agent) ?? 0) + c.count);
  return [...hit].sort((a, b) => b[1] - a[1]);
}

/** testOf is a simulated call as a test, in YAML. JSON is YAML. */
export function testOf(name: string, call: object, decision: string, rule: string): string {
  const want = { decision, ...(rule && rule !== "default" ? { rule } : {}) };
  return `  - name: ${JSON.stringify(name)}\n    call: ${JSON.stringify(call)}\n    want: ${JSON.stringify(want)}\n`;
}

const emptyList = /^tests:\s*\[\s*\]\s*$/m;

/** hasNoTests: the list of tests is there, and empty. */
export const hasNoTests = (text: string) =>
  emptyList.test(text) || /^tests:\s*(#.*)?$/.test(text.trim().split("\n").at(-1) ?? "");

/** withTest adds a test to a file of tests; undefined: its list does not stand at its end. */
export function withTest(text: string, test: string): string | undefined {
  const head = text.trimEnd();
  if (!/^tests:/m.test(head)) return undefined;
  const last = head
    .slice(head.search(/^tests:/m))
    .split("\n")
    .slice(1);
  // Something behind the list would take the test for its own.
  if (last.some((line) => /^[^\s#-]/.test(line))) return undefined;
  const flat = emptyList.exec(head);
  return `${flat ? head.replace(flat[0], "tests:") : head}\n${test}`;
}
