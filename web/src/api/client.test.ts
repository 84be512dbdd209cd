// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

it.each([".", ".."])("refuses the id %s, which browsers resolve to another address", async (id) => {
  const fetched = vi.fn();
  vi.stubGlobal("fetch", fetched);
  const { api } = await import("./client");
  await expect(api.get("/agent/agents/{agentId}", { params: { path: { agentId: id } } })).rejects.toMatchObject({
    status: 400,
  });
  expect(fetched).not.toHaveBeenCalled();
});

it("gives up on an answer that does not begin to come", async () => {
  vi.useFakeTimers();
  const hangs = (_: Request, { signal }: { signal: AbortSignal }) =>
    new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  vi.stubGlobal("fetch", hangs);
  const { send } = await import("./client");
  const answer = send(new Request("http://writ.example/auth/options"));
  const failed = expect(answer).rejects.toMatchObject({ status: 0 });
  await vi.advanceTimersByTimeAsync(80_000);
  await failed;
  vi.useRealTimers();
});
