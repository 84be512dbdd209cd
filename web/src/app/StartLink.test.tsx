// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { type Organization, OrgProvider } from "./org";
import { StartLink } from "./StartLink";

vi.mock("@tanstack/react-router", () => ({ Link: ({ children }: { children: ReactNode }) => children }));
afterEach(cleanup);

const shownTo = (...rights: string[]) => {
  const org = { id: "o", rights } as unknown as Organization;
  render(
    <OrgProvider value={org}>
      <StartLink>Begin</StartLink>
    </OrgProvider>,
  );
  return screen.queryByText("Begin") !== null;
};

it("offers the first steps to those who can make a key", () => {
  expect(shownTo("telemetry.read", "keys.own")).toBe(true);
});

it("offers a viewer nothing that their role refuses", () => {
  expect(shownTo("telemetry.read")).toBe(false);
});
