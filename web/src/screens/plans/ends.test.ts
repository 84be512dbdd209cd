import { expect, it } from "vitest";
import type { Node } from "../../app/trust/queries";
import { endOf, nodeOf } from "./ends";

const expiresAt = "2999-01-01T00:00:00Z";

it("names no end to come of a plan that has ended", () => {
  expect(endOf({ status: "active", endedAt: null, expiresAt })).toEqual({ word: "Ends", at: expiresAt });
  expect(endOf({ status: "failed", endedAt: null, expiresAt })).toEqual({ word: "Ended", at: undefined });
  const endedAt = "2026-01-01T00:00:00Z";
  expect(endOf({ status: "failed", endedAt, expiresAt })).toEqual({ word: "Ended", at: endedAt });
  expect(endOf({ status: "expired", endedAt: null, expiresAt: endedAt })).toEqual({ word: "Ended", at: endedAt });
});

it("finds a delegation, and what it came from", () => {
  const child = { id: "b", children: [] } as unknown as Node;
  const root = { id: "a", children: [child] } as unknown as Node;
  expect(nodeOf(root, "b")).toEqual({ node: child, parent: root });
  expect(nodeOf(root, "a")).toEqual({ node: root });
  expect(nodeOf(root, "c")).toBeUndefined();
});
