import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { helpAt, offersAt, placeAt, type Schema } from "./help";

const schema = JSON.parse(
  readFileSync(new URL("../../../../internal/policy/document/schema.json", import.meta.url), "utf8"),
) as Schema;

const text = `version: v1
name: refunds
default: deny
rules:
  - id: large
    effect: hold
    tools: [shop.refund]
    when: >-
      amount(args) > 50
    limit:
      calls: 3
      per: 1h
  - id: small
    `;
const lines = text.split("\n");
const at = (line: number, column: number) => placeAt(lines, line, column);
const labels = (line: number, column: number) => offersAt(schema, at(line, column)).map((o) => o.label);

it("finds where one is", () => {
  expect(at(2, 10)).toEqual({ path: ["default"], naming: false });
  expect(at(5, 14)).toEqual({ path: ["rules", "effect"], naming: false });
  expect(at(8, 8)).toEqual({ path: ["rules", "when"], naming: false });
  expect(at(10, 6)).toEqual({ path: ["rules", "limit"], naming: true });
  expect(at(13, 4)).toEqual({ path: ["rules"], naming: true });
});

it("offers what may stand there", () => {
  expect(labels(0, 0)).toContain("rules");
  expect(labels(2, 9)).toEqual(["allow", "deny", "hold", "ask"]);
  expect(labels(5, 12)).toEqual(["allow", "deny", "hold", "ask"]);
  expect(labels(13, 4)).toEqual(expect.arrayContaining(["effect", "tools", "when", "limit", "approvers"]));
  expect(labels(10, 6)).toEqual(expect.arrayContaining(["calls", "per", "by"]));
  expect(labels(8, 8)).toEqual(expect.arrayContaining(["amount", "shell", "args"]));
});

it("helps with functions and members", () => {
  expect(helpAt(schema, at(8, 8), "amount")?.title).toBe("amount(args)");
  expect(helpAt(schema, at(8, 8), "nothing")).toBeUndefined();
  expect(helpAt(schema, at(6, 5), "tools")?.text).toContain("server.tool");
});
