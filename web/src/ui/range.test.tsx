// @vitest-environment happy-dom
import { renderHook } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { boundsOf, lengthOf, parseMoment, type RangeSearch, useBounds } from "./range";

const now = Date.UTC(2026, 10, 9, 12);

afterEach(() => vi.useRealTimers());

it.each([
  ["-2h", now - 7_200_000],
  [" -15m ", now - 900_000],
  ["now", now],
  ["2026-11-01T10:00:00Z", Date.UTC(2026, 10, 1, 10)],
  ["yesterday", undefined],
  ["-2y", undefined],
  ["2026-99-01", undefined],
])("reads %s", (text, want) => expect(parseMoment(text, now)).toBe(want));

it("reads a date as midnight here, as it reads times without a zone", () => {
  vi.stubEnv("TZ", "America/New_York");
  expect(parseMoment("2026-11-09", now)).toBe(Date.UTC(2026, 10, 9, 5));
  expect(parseMoment("2026-11-09T00:00", now)).toBe(Date.UTC(2026, 10, 9, 5));
  vi.unstubAllEnvs();
});

it("covers what it says", () => {
  expect(boundsOf({}, "7d", now)).toEqual({ from: "2026-11-02T12:00:00.000Z" });
  expect(boundsOf({ range: "1h" }, "7d", now)).toEqual({ from: "2026-11-09T11:00:00.000Z" });
  expect(boundsOf({ from: "a", to: "b" }, "7d", now)).toEqual({ from: "a", until: "b" });
  expect(lengthOf({ from: "2026-11-01T00:00:00Z", until: "2026-11-08T00:00:00Z" }, now)).toBe(7 * 86_400_000);
});

it("holds the bounds of a component: a new one in each render would be read without end", () => {
  vi.useFakeTimers({ now });
  const hook = renderHook(({ search }: { search: RangeSearch }) => useBounds(search, "7d"), {
    initialProps: { search: {} },
  });
  const first = hook.result.current;
  vi.advanceTimersByTime(70_000);
  hook.rerender({ search: {} });
  expect(hook.result.current).toBe(first);
  vi.advanceTimersByTime(300_000);
  hook.rerender({ search: {} });
  expect(hook.result.current.from > first.from).toBe(true);
  hook.rerender({ search: { range: "1h" } });
  expect(hook.result.current.from).toBe("2026-11-09T11:06:00.000Z");
});
