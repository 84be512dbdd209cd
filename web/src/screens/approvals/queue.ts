// The queue as an approver reads it: by risk, then by the time that is left, and never moving by itself.
import type { Approval } from "./queries";

const risks = ["critical", "high", "medium", "low", ""];
const rank = (of: Approval) => {
  const at = risks.indexOf(of.risk.level);
  return at < 0 ? risks.length : at;
};

/** inOrder sorts by risk, then by the time that is left. */
export function inOrder(requests: Approval[]): Approval[] {
  return [...requests].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      Date.parse(a.expiresAt) - Date.parse(b.expiresAt) ||
      a.delegationId.localeCompare(b.delegationId),
  );
}

export interface Queue {
  /** What is shown, in the order in which it was taken in. */
  rows: { request: Approval; gone: boolean }[];
  /** How many have come since. */
  news: number;
}

/** queueOf is what was taken in, as it is now: what no longer waits stays in its place and is marked. */
export function queueOf(taken: Approval[], waiting: Approval[]): Queue {
  const now = new Map(waiting.map((r) => [r.delegationId, r]));
  const rows = taken.map((before) => {
    const request = now.get(before.delegationId);
    return { request: request ?? before, gone: request === undefined };
  });
  const shown = new Set(taken.map((r) => r.delegationId));
  return { rows, news: waiting.filter((r) => !shown.has(r.delegationId)).length };
}

/** beside is the row after (1) or before (-1) another; without one, the first. */
export function beside(queue: Queue, id: string | undefined, step: 1 | -1): string | undefined {
  const at = queue.rows.findIndex((row) => row.request.delegationId === id);
  const to = at < 0 ? 0 : Math.max(0, Math.min(queue.rows.length - 1, at + step));
  return queue.rows[to]?.request.delegationId;
}
