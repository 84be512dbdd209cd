import { expect, it } from "vitest";
import { atMostSix, stack } from "./lanes";

const of = (name: string, ...values: number[]) => ({ name, color: "chart-1", values });

it("stacks with the whole first", () => {
  expect(stack([of("a", 1, 2), of("b", 10, 20)]).map((s) => [s.name, s.values])).toEqual([
    ["b", [11, 22]],
    ["a", [1, 2]],
  ]);
});

it("puts what is beyond six together", () => {
  const eight = Array.from({ length: 8 }, (_, i) => of(String(i), i));
  const six = atMostSix(eight, "other");
  expect(six).toHaveLength(6);
  expect(six.at(-1)).toEqual({ name: "other", color: "text-3", values: [5 + 6 + 7] });
});
