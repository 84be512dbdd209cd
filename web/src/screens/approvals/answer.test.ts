// @vitest-environment happy-dom
import { renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError } from "../../api/errors";
import { undoPending } from "../../ui/Toast";
import { answer, type Progress, send, useProgress } from "./answer";
import type { Shown } from "./queries";

const calls: string[] = [];
let replies: Record<string, (n: number) => unknown> = {};
const reply = async (path: string) => {
  calls.push(path);
  return replies[path]?.(calls.filter((c) => c === path).length);
};

// What is done when another person signs in.
const cleans = vi.hoisted(() => [] as (() => void)[]);
vi.mock("../../auth/session", async (original) => ({
  ...(await original<typeof import("../../auth/session")>()),
  onSignOut: (clean: () => void) => {
    cleans.push(clean);
  },
}));

vi.mock("../../api/client", () => ({
  api: { post: (path: string) => reply(path), get: (path: string) => reply(path) },
}));

const request = (delegationId: string) => ({ delegationId, tool: "pay" }) as unknown as Shown;
const away = () => {
  throw new ApiError(0, "away");
};
const stateOf = (id: string): Progress | undefined => renderHook(() => useProgress(id)).result.current;

beforeEach(() => {
  calls.length = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  undoPending();
  vi.useRealTimers();
});

it("sends after two seconds, once", async () => {
  replies = { "/delegation/approve": () => ({ status: "approved" }) };
  expect(answer("o", request("a"), { is: "approve" })).toBe(true);
  expect(answer("o", request("a"), { is: "approve" })).toBe(false);
  await vi.advanceTimersByTimeAsync(1900);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(calls).toEqual(["/delegation/approve"]);
  expect(stateOf("a")).toBeUndefined();
});

it("sends nothing that was undone", async () => {
  answer("o", request("b"), { is: "reject", note: "no" });
  expect(stateOf("b")?.is).toBe("waiting");
  expect(undoPending()).toBe(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(calls).toEqual([]);
  expect(stateOf("b")).toBeUndefined();
});

it("sends nothing when the page is left", async () => {
  answer("o", request("h"), { is: "approve" });
  const hidden = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  document.dispatchEvent(new Event("visibilitychange"));
  hidden.mockRestore();
  await vi.advanceTimersByTimeAsync(5000);
  expect(calls).toEqual([]);
  expect(stateOf("h")).toBeUndefined();
});

it("takes one answer at a time, and does not lose the first", async () => {
  replies = { "/delegation/approve": () => ({ status: "approved" }) };
  expect(answer("o", request("c"), { is: "approve" })).toBe(true);
  expect(answer("o", request("d"), { is: "approve" })).toBe(false);
  await vi.advanceTimersByTimeAsync(3000);
  expect(calls).toEqual(["/delegation/approve"]);
});

it("reads the request when no answer came, until the server speaks, and sends nothing again", async () => {
  replies = {
    "/delegation/approve": away,
    "/delegation/requests/{id}": (n) => (n < 3 ? away() : { status: "pending" }),
  };
  const sent = send("o", "e", { is: "approve" });
  await vi.advanceTimersByTimeAsync(0);
  expect(stateOf("e")?.is).toBe("unknown");
  await vi.advanceTimersByTimeAsync(5000);
  await sent;
  expect(stateOf("e")?.is).toBe("lost");
  expect(calls.filter((c) => c === "/delegation/approve")).toHaveLength(1);
});

it("says nothing more where the lost answer had arrived", async () => {
  replies = {
    "/delegation/reject": () => {
      throw new ApiError(502, "the proxy lost it");
    },
    "/delegation/requests/{id}": () => ({ status: "rejected" }),
  };
  await send("o", "f", { is: "reject", note: "no" });
  expect(stateOf("f")).toBeUndefined();
});

it("asks the server where half of its answer came", async () => {
  replies = {
    "/delegation/approve": () => {
      throw new TypeError("the connection ended in the body");
    },
    "/delegation/requests/{id}": () => ({ status: "approved" }),
  };
  await send("o", "i", { is: "approve" });
  expect(calls).toContain("/delegation/requests/{id}");
  expect(stateOf("i")).toBeUndefined();
});

it("sends no answer of a person who signed out", async () => {
  replies = { "/delegation/approve": () => ({ status: "approved" }) };
  answer("o", request("j"), { is: "approve" });
  for (const clean of cleans) clean();
  await vi.advanceTimersByTimeAsync(5000);
  expect(calls).toEqual([]);
  expect(stateOf("j")).toBeUndefined();
});

it("tells a late answer from a refused one", async () => {
  const answered = (status: number) => () => {
    throw new ApiError(status, "no");
  };
  replies = { "/delegation/approve": answered(409) };
  await send("o", "g", { is: "approve" });
  expect(stateOf("g")?.is).toBe("late");
  replies = { "/delegation/approve": answered(403) };
  await send("o", "g", { is: "approve" });
  expect(stateOf("g")?.is).toBe("refused");
});
