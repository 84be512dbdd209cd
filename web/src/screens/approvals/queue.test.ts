import { expect, it } from "vitest";
import type { Approval } from "./queries";
import { beside, inOrder, queueOf } from "./queue";

const request = (delegationId: string, level: string, expiresAt = "2026-01-01T00:30:00Z") =>
  ({ delegationId, risk: { level, score: 0, reasons: [] }, expiresAt }) as unknown as Approval;

it("sorts by risk, then by the time that is left", () => {
  const sorted = inOrder([
    request("a", "low"),
    request("b", "critical", "2026-01-01T00:40:00Z"),
    request("c", ""),
    request("d", "critical", "2026-01-01T00:20:00Z"),
    request("e", "medium"),
    request("f", "not known to this page"),
    request("g", "high"),
  ]);
  expect(sorted.map((r) => r.delegationId).join("")).toBe("dbgeacf");
});

it("keeps what was answered in its place, and what came waits outside", () => {
  const taken = [request("a", "high"), request("b", "low")];
  const queue = queueOf(taken, [request("z", "critical"), request("b", "low")]);
  expect(queue.rows.map((r) => [r.request.delegationId, r.gone])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  expect(queue.news).toBe(1);
});

it("moves within the list and not beyond", () => {
  const queue = queueOf([request("a", "low"), request("b", "low")], []);
  expect(beside(queue, "a", 1)).toBe("b");
  expect(beside(queue, "b", 1)).toBe("b");
  expect(beside(queue, "a", -1)).toBe("a");
  expect(beside(queue, "of another list", 1)).toBe("a");
  expect(beside(queueOf([], []), undefined, 1)).toBeUndefined();
});
