// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError } from "../api/errors";
import { Loaded } from "./Loaded";

afterEach(cleanup);

const away = new ApiError(0, "the server did not answer");
const shown = (data: string | undefined, error: unknown, refetch = () => {}) =>
  render(
    <Loaded query={{ data, error, refetch }} skeleton={<p>loading</p>}>
      {(text) => <p>{text}</p>}
    </Loaded>,
  );

it("shows the shape of what comes", () => {
  shown(undefined, null);
  expect(screen.getByText("loading")).toBeTruthy();
});

it("says what failed when there is nothing to show, and tries again", () => {
  const refetch = vi.fn();
  shown(undefined, away, refetch);
  expect(screen.queryByText("loading")).toBeNull();
  expect(screen.getByRole("alert").textContent).toContain("The server does not answer.");
  expect(screen.queryByText(/from before/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(refetch).toHaveBeenCalledOnce();
});

it("keeps what was read when a later read fails", () => {
  shown("what was read", away);
  expect(screen.getByText("what was read")).toBeTruthy();
  expect(screen.getByRole("alert").textContent).toContain("does not answer");
  expect(screen.getByRole("alert").textContent).toContain("What you see is from before.");
});

it("says nothing about a read that went well", () => {
  shown("what was read", null);
  expect(screen.queryByRole("alert")).toBeNull();
});

it("says after a while that the server has not answered", () => {
  vi.useFakeTimers();
  render(
    <Loaded query={{ data: undefined, error: null, refetch: () => {} }}>{(text) => <p>{String(text)}</p>}</Loaded>,
  );
  act(() => void vi.advanceTimersByTime(9_000));
  expect(screen.queryByText(/has not answered yet/)).toBeNull();
  act(() => void vi.advanceTimersByTime(2_000));
  expect(screen.getByText(/has not answered yet/)).toBeTruthy();
  vi.useRealTimers();
});
