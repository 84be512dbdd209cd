import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { lead } from "./lock";

const storage = new Map<string, string>();

beforeEach(() => {
  vi.useFakeTimers();
  storage.clear();
  vi.stubGlobal("navigator", {}); // plain HTTP: no Web Locks
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => storage.set(key, value),
    removeItem: (key: string) => storage.delete(key),
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("stops leading when another tab took the lease, and leads again after it", async () => {
  const stop = new AbortController();
  const log: string[] = [];
  lead("x", stop.signal, () => {
    log.push("begin");
    return () => log.push("end");
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(["begin"]);
  // This tab slept; another one leads now.
  storage.set("writ.lease.x", JSON.stringify({ holder: "other", until: Date.now() + 4000 }));
  await vi.advanceTimersByTimeAsync(2000);
  expect(log).toEqual(["begin", "end"]);
  expect(JSON.parse(storage.get("writ.lease.x") ?? "{}").holder).toBe("other");
  await vi.advanceTimersByTimeAsync(3000);
  expect(log).toEqual(["begin", "end", "begin"]);
  stop.abort();
});
