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
