import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { fresh, listQuery, pageSize } from "../../app/queries";

export type Agent = Body<"AgentBody">;
export type Status = Agent["status"];
export type Lease = Body<"LeaseBody">;
export type Trips = Body<"TripsBody">;

/** How often what agents do is read again, in milliseconds. */
const again = { list: 15_000, one: 10_000 };
const latest = 20;

/** agentsQuery reads agents, the newest first. One page is read again by itself: its order does not change. */
export const agentsQuery = (org: string, status: Status | undefined) => ({
  ...listQuery([org, "agents", "list", status ?? ""], (cursor, signal) =>
    api.get("/agent/agents", {
      params: {
        query: { organizationId: org, limit: pageSize, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) },
      },
      signal,
    }),
  ),
  refetchInterval: (query: { state: { data?: { pages: unknown[] } | undefined } }) =>
    (query.state.data?.pages.length ?? 0) <= 1 ? again.list : (false as const),
});

const one = (org: string, agentId: string) => ({ path: { agentId }, query: { organizationId: org } });

export const readAgent = (org: string, agentId: string, signal?: AbortSignal) =>
  api.get("/agent/agents/{agentId}", { params: one(org, agentId), ...(signal ? { signal } : {}) });

export const agentQuery = (org: string, agentId: string) =>
  queryOptions({
    queryKey: [org, "agents", "one", agentId],
    queryFn: ({ signal }) => readAgent(org, agentId, signal),
    refetchInterval: again.one,
  });

/** setStatus suspends an agent or sets it active. */
export const setStatus = (org: string, agentId: string, status: "active" | "suspended", reason: string) =>
  api.post("/agent/agents/{agentId}/status", { params: one(org, agentId), body: { status, reason } });

export const decisionsQuery = (org: string, agent: string) =>
  queryOptions({
    queryKey: [org, "agents", "decisions", agent],
    queryFn: ({ signal }) =>
      api.get("/audit-log/entries", {
        params: { query: { organizationId: org, action: "call.decided", agent, limit: latest } },
        signal,
      }),
  });

export const plansQuery = (org: string, agentId: string) =>
  queryOptions({
    queryKey: [org, "agents", "plans", agentId],
    queryFn: ({ signal }) =>
      api.get("/iap/plans", { params: { query: { organizationId: org, agentId, limit: latest } }, signal }),
  });

export const tracesQuery = (org: string, agentId: string) =>
  queryOptions({
    queryKey: [org, "agents", "traces", agentId],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/traces", {
        params: { path: { orgId: org }, query: { agentId, limit: latest, days: 7 } },
        signal,
      }),
  });

export const leasesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "agents", "leases"],
    queryFn: ({ signal }) => api.get("/agent/leases", { params: { query: { organizationId: org } }, signal }),
    refetchInterval: again.one,
  });

/** keysQuery names keys by their ids, as far as the person may see them. */
export const keysQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "agents", "keys"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/api-keys", { params: { query: { organizationId: org, limit: 200 } }, signal });
      return new Map(page.data.map((k) => [k.id, k]));
    },
    staleTime: fresh.settings,
  });

/** How many policies are looked at: each is a request. */
export const mostPolicies = 50;

export type Bound = Body<"ListedPolicyBody"> & { bindings: Body<"PolicyBindingsBody"> };

/** policiesQuery reads active policies with whom they are bound to. */
export const policiesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "agents", "policies"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/policies", {
        params: { query: { organizationId: org, status: "active", limit: mostPolicies } },
        signal,
      });
      const items: Bound[] = await Promise.all(
        page.items.map(async (p) => ({
          ...p,
          bindings: await api.get("/policies/{policyId}/bindings", { params: { path: { policyId: p.id } }, signal }),
        })),
      );
      return { items, cut: page.hasMore };
    },
    staleTime: fresh.settings,
  });
