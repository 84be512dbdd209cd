import { expect, it } from "vitest";
import { roomOf, top, wholeSteps } from "./plot";

// As uPlot chooses: the first step that leaves the room.
const stepOf = (largest: number, height: number) =>
  wholeSteps.find((step) => (step / largest) * height >= roomOf(height)) ?? Number.NaN;

it.each([50, 60, 80, 120])("labels another number than zero on an axis %s pixels high", (height) => {
  const only = Array.from({ length: 2000 }, (_, i) => i + 1).filter((n) => stepOf(top(n)[1], height) > top(n)[1]);
  expect(only).toEqual([]);
});
