// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ApiError } from "../../api/errors";
import { leavesOpen, useOnce } from "./useOnce";

afterEach(cleanup);

/** Sent holds what was sent, and answers when it is told to. */
function setUp(looks: () => Promise<string | undefined> = async () => undefined) {
  const sent: { resolve: (text: string) => void; reject: (error: unknown) => void }[] = [];
  let settled = 0;
  const send = () => new Promise<string>((resolve, reject) => sent.push({ resolve, reject }));
  const hook = renderHook(() =>
    useOnce({
      send,
      look: looks,
      onSettled: () => {
        settled++;
      },
    }),
  );
  const once = () => hook.result.current;
  return { once, sent, settled: () => settled };
}

const away = new ApiError(0, "away");

it("sends once, however often it is clicked", async () => {
  const { once, sent, settled } = setUp();
  await act(async () => {
    void once().run();
    void once().run();
  });
  await act(async () => void once().run());
  expect(sent).toHaveLength(1);
  await act(async () => sent[0]?.resolve("yes"));
  expect(once().state).toEqual({ is: "done", result: "yes", found: false });
  await act(async () => void once().run());
  expect(sent).toHaveLength(1);
  expect(settled()).toBe(1);
});

it("sends nothing again before it was asked whether it was done", async () => {
  const { once, sent } = setUp();
  await act(async () => void once().run());
  await act(async () => sent[0]?.reject(away));
  expect(once().state.is).toBe("unknown");
  await act(async () => void once().run());
  expect(sent).toHaveLength(1);
  await act(async () => void once().ask());
  expect(once().state.is).toBe("absent");
  await act(async () => void once().run());
  expect(sent).toHaveLength(2);
});

it("is done where the server says so, although no answer came", async () => {
  const { once, sent } = setUp(async () => "was done");
  await act(async () => void once().run());
  await act(async () => sent[0]?.reject(new ApiError(502, "a proxy")));
  await act(async () => void once().ask());
  expect(once().state).toEqual({ is: "done", result: "was done", found: true });
});

it("stays unknown while the server cannot be asked", async () => {
  const { once, sent } = setUp(async () => {
    throw away;
  });
  await act(async () => void once().run());
  await act(async () => sent[0]?.reject(away));
  await act(async () => void once().ask());
  expect(once().state.is).toBe("unknown");
});

it("sends no conflict again: what conflicts must be looked at first", async () => {
  const { once, sent } = setUp();
  await act(async () => void once().run());
  await act(async () => sent[0]?.reject(new ApiError(409, "somebody was faster")));
  expect(once().state.is).toBe("failed");
  await act(async () => void once().run());
  expect(sent).toHaveLength(1);
});

it("sends again what was refused for another reason", async () => {
  const { once, sent } = setUp();
  await act(async () => void once().run());
  await act(async () => sent[0]?.reject(new ApiError(400, "no reason")));
  await act(async () => void once().run());
  expect(sent).toHaveLength(2);
});

it("leaves open what has no answer, or a bad one", () => {
  expect([0, 500, 502, 504].map((s) => leavesOpen(new ApiError(s, "")))).toEqual([true, true, true, true]);
  expect([400, 401, 403, 404, 409, 429].some((s) => leavesOpen(new ApiError(s, "")))).toBe(false);
  expect(leavesOpen(new SyntaxError("half an answer"))).toBe(true);
});
