import { expect, it } from "vitest";
import type { Node } from "./queries";
import { endOf, standingOf } from "./TrustTree";

const node = (more: Partial<Node>) =>
  ({
    status: "active",
    counts: false,
    revokedAt: null,
    budget: 0,
    calls: 0,
    expiresAt: "2030-01-01T00:00:00Z",
    ...more,
  }) as Node;
const before = Date.parse("2029-01-01T00:00:00Z");

it("says of each why it counts no more, as the command line does", () => {
  expect(standingOf(node({ counts: true }))).toBe("Active");
  expect(standingOf(node({ budget: 2, calls: 2 }))).toBe("All calls made");
  expect(standingOf(node({ budget: 2, calls: 1 }))).toBe("Ended above, or no calls left there");
  expect(standingOf(node({ status: "failed" }))).toBe("Ended");
  expect(standingOf(node({ status: "failed", revokedAt: "2028-01-01T00:00:00Z" }))).toBe("Revoked");
});

it("names no end to come of what has ended", () => {
  expect(endOf(node({}), before)?.word).toBe("Ends");
  expect(endOf(node({ status: "failed" }), before)).toBeUndefined();
  expect(endOf(node({ status: "expired" }), Date.parse("2030-02-01T00:00:00Z"))?.word).toBe("Ended");
  expect(endOf(node({ revokedAt: "2028-01-01T00:00:00Z" }), before)).toEqual({
    word: "Revoked",
    at: "2028-01-01T00:00:00Z",
  });
});
