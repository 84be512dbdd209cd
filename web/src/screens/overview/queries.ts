import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/client";
import { fresh } from "../../app/queries";
import { refreshEvery } from "../../app/series";
import { type Bounds, lengthOf } from "../../ui/range";

const within = (org: string, query: Bounds, signal: AbortSignal) => ({
  params: { path: { orgId: org }, query },
  signal,
});

export const summaryQuery = (org: string, bounds: Bounds) =>
  queryOptions({
    queryKey: [org, "overview", "summary", bounds],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/analytics/summary", within(org, bounds, signal)),
    refetchInterval: refreshEvery(bounds),
  });

/** beforeQuery reads the summary of the time as long as the bounds, before them. */
export function beforeQuery(org: string, bounds: Bounds) {
  const from = Date.parse(bounds.from);
  const before = {
    from: new Date(from - lengthOf(bounds, Date.now())).toISOString(),
    until: bounds.from,
  };
  return queryOptions({
    queryKey: [org, "overview", "before", bounds],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/analytics/summary", within(org, before, signal)),
    staleTime: fresh.never,
  });
}

export const denialsQuery = (org: string, bounds: Bounds) =>
  queryOptions({
    queryKey: [org, "overview", "denials", bounds],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/analytics/denials", within(org, bounds, signal)),
    refetchInterval: refreshEvery(bounds),
  });

/** newestQuery reads the newest decisions. */
export const newestQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "overview", "newest"],
    queryFn: ({ signal }) =>
      api.get("/audit-log/entries", {
        params: { query: { organizationId: org, action: "call.decided", limit: 10 } },
        signal,
      }),
  });

/** policyNamesQuery names policies by their ids. */
export const policyNamesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "overview", "policies"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/policies", { params: { query: { organizationId: org, limit: 200 } }, signal });
      return new Map(page.items.map((p) => [p.id, p.name]));
    },
    staleTime: fresh.settings,
  });

const shownAgents = 8;

/** agentsQuery reads the agents that did something in the last 24 hours, the latest first. */
export const agentsQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "overview", "agents"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/agent/agents", { params: { query: { organizationId: org, limit: 200 } }, signal });
      const seen = (a: (typeof page.items)[number]) => (a.lastSeenAt ? Date.parse(a.lastSeenAt) : 0);
      return page.items
        .filter((a) => a.sparkline?.some((n) => n > 0))
        .sort((a, b) => seen(b) - seen(a))
        .slice(0, shownAgents);
    },
    refetchInterval: 30_000,
  });
