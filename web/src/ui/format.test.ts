import { describe, expect, it } from "vitest";
import { ago, bytes, duration, money, percent, shortCount } from "./format";

describe("numbers", () => {
  it.each([
    [0, "$0.00"],
    [0.0102, "$0.01"],
    [0.00042, "$0.00042"],
    [0.003, "$0.0030"],
    [41.2, "$41.20"],
    [12408.5, "$12,408.50"],
  ])("money %d", (usd, want) => expect(money(usd)).toBe(want));

  it.each([
    [0, "0 ms"],
    [380, "380 ms"],
    [1200, "1.2 s"],
    [12_400, "12 s"],
    [200_000, "3 min 20 s"],
    [7_500_000, "2 h 5 min"],
    [273_600_000, "3 d 4 h"],
    [3_600_000, "1 h"],
  ])("duration %d", (ms, want) => expect(duration(ms)).toBe(want));

  it("sizes, shares and counts", () => {
    expect([bytes(999), bytes(1_048_576), percent(214, 12_408), percent(1, 0), shortCount(12_408)]).toEqual([
      "999 B",
      "1.0 MB",
      "1.7%",
      "0%",
      "12.4K",
    ]);
  });
});

describe("times in lists", () => {
  const now = Date.UTC(2026, 10, 9, 12);
  it.each([
    [2, "now"],
    [-2, "now"],
    [14, "14 s"],
    [150, "2 min"],
    [7300, "2 h"],
    [200_000, "2 d"],
    [8 * 86_400, "1 Nov 2026"],
    [-6, "now"],
    [-59, "now"],
    [-150, "in 2 min"],
    [-8 * 86_400, "17 Nov 2026"],
  ])("%d s ago", (s, want) => expect(ago(now - s * 1000, now)).toBe(want));

  it.each([
    [-6, "in 6 s"],
    [-59, "in 59 s"],
    [-150, "in 2 min"],
    [14, "14 s"],
  ])("what ends %d s ago is not hidden", (s, want) => expect(ago(now - s * 1000, now, true)).toBe(want));
});
