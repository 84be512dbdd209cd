// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { TraceDetail } from "./queries";
import { Tools } from "./Tools";

afterEach(cleanup);

const shown = (errorCount: number) => {
  const trace = { totals: { spanCount: 5, errorCount }, spans: [] } as unknown as TraceDetail;
  render(<Tools trace={trace} search={{}} onChange={() => {}} onCritical={() => {}} />);
  return screen.getByRole("status").textContent;
};

it("takes no denial for a failure: the API counts both as errors", () => {
  expect(shown(4)).toBe("5 spans · 4 failed or denied");
});

it("says nothing of failures where there is none", () => {
  expect(shown(0)).toBe("5 spans");
});
