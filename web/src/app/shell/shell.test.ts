import { expect, it, vi } from "vitest";
import { neighbour } from "./neighbours";

vi.stubGlobal("sessionStorage", undefined);

it("finds neighbours in a list, and entries without one", () => {
  const list = ["/traces/a", "/traces/b"];
  expect(neighbour("/traces/a", 1, list)).toBe("/traces/b");
  expect(neighbour("/traces/a", -1, list)).toBeUndefined();
  expect(neighbour("/traces/x", 1, list)).toBeUndefined();
  expect(neighbour("/audit/7", -1, list)).toBe("/audit/6");
  expect(neighbour("/audit/0", -1, list)).toBeUndefined();
  const odd = ["/sessions/a%2Fb", "/sessions/%3Cb%3E'", "/sessions/c%20d"];
  expect(neighbour("/sessions/a%2Fb", 1, odd)).toBe(odd[1]);
  expect(neighbour("/sessions/%3Cb%3E%27", 1, odd)).toBe(odd[2]);
  expect(neighbour("/sessions/%", 1, odd)).toBeUndefined();
});

it("keeps the newest things once each", async () => {
  const { withRecent } = await import("./recent");
  const thing = (n: number) => ({ area: "Traces", name: `t${n}`, href: `/ui/traces/${n}` });
  let list = [1, 2, 3, 4, 5, 6, 7, 8, 9].reduce((l, n) => withRecent(l, thing(n)), [] as ReturnType<typeof thing>[]);
  expect(list.map((r) => r.name)).toEqual(["t9", "t8", "t7", "t6", "t5", "t4", "t3", "t2"]);
  list = withRecent(list, thing(5));
  expect(list.map((r) => r.name).slice(0, 3)).toEqual(["t5", "t9", "t8"]);
});
