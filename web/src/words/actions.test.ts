import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { actionWords } from "./actions";

// What belongs to the installation or to one's account stands in no organization's log.
const elsewhere = /^(access|blog|email|password|second_factor|user)\.|^profile\.changed$/;

it("says in words, and so finds, whatever routes write into an organization's log", () => {
  const document = readFileSync(new URL("../../openapi.json", import.meta.url), "utf8");
  const sentences = document.match(/in the audit log as [^"]+?\. /g) ?? [];
  const actions = sentences.flatMap((sentence) => [...sentence.matchAll(/`(\w+\.\w+)`/g)].map((m) => m[1] ?? ""));
  expect(actions.length).toBeGreaterThan(60);
  expect([...new Set(actions)].filter((action) => !elsewhere.test(action) && !actionWords[action])).toEqual([]);
});
