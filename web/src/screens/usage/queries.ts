import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { fresh } from "../../app/queries";
import { refreshEvery } from "../../app/series";
import type { Bounds } from "../../ui/range";

export type Group = Body<"TokensGroupedBody">["groupBy"];
export type Item = Body<"UsageItemBody">;
export const groups: Group[] = ["model", "tool", "agent", "session"];

/** usageQuery reads tokens and cost by model, tool, agent or session, the dearest first. */
export const usageQuery = (org: string, groupBy: Group, bounds: Bounds) =>
  queryOptions({
    queryKey: [org, "usage", groupBy, bounds],
    queryFn: async ({ signal }) => {
      const found = await api.get("/organization/{orgId}/observability/tokens", {
        params: { path: { orgId: org }, query: { groupBy, ...bounds } },
        signal,
      });
      return found.items;
    },
    refetchInterval: refreshEvery(bounds),
  });

/** meteredQuery reads what was used by day or month. */
export const meteredQuery = (org: string, by: "day" | "month") =>
  queryOptions({
    queryKey: [org, "usage", "periods", by],
    queryFn: ({ signal }) => api.get("/dashboard/usage", { params: { query: { organizationId: org, by } }, signal }),
  });

/** priceQuery reads what a model costs, for the tokens that were used. */
export const priceQuery = (org: string, model: string, item: Item | undefined) =>
  queryOptions({
    queryKey: [org, "usage", "price", model, item],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/prices", {
        params: {
          path: { orgId: org },
          query: {
            model,
            ...(item
              ? {
                  inputTokens: item.inputTokens,
                  outputTokens: item.outputTokens,
                  cacheReadTokens: item.cacheReadTokens,
                  cacheWriteTokens: item.cacheWriteTokens,
                }
              : {}),
          },
        },
        signal,
      }),
    staleTime: fresh.settings,
  });

/** other is the key of what is beyond the largest. */
export const other = "(other)";

/** filterOf is what the list of traces is narrowed by to see an item; undefined: it cannot be. */
export function filterOf(group: Group, key: string): Record<string, string> | undefined {
  if (key === "" || key === other) return undefined;
  return { [{ model: "model", tool: "tool", agent: "agentId", session: "sessionId" }[group]]: key };
}
