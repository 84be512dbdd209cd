import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { listQuery, pageSize } from "../../app/queries";
import type { SearchOf } from "../../app/search";
import { boundsOf } from "../../ui/range";
import type { planFields } from "./search";

export type Plan = Body<"PlanBody">;
export type ListedPlan = Body<"PlanState">;
export type Report = Body<"ReportBody">;
export type PlanSearch = SearchOf<typeof planFields>;

const minute = 60_000;

/** plansQuery reads plans, the newest first. */
export function plansQuery(org: string, search: PlanSearch) {
  return listQuery([org, "plans", search], (cursor, signal) => {
    const { range, from, status, agentId, user } = search;
    const times = range || from ? boundsOf(search, "7d", Math.floor(Date.now() / minute) * minute) : undefined;
    return api.get("/iap/plans", {
      params: {
        query: {
          organizationId: org,
          limit: pageSize,
          ...(status ? { status } : {}),
          ...(agentId ? { agentId } : {}),
          ...(user ? { user } : {}),
          ...(times ? { since: times.from, ...(times.until ? { before: times.until } : {}) } : {}),
          ...(cursor ? { cursor } : {}),
        },
      },
      signal,
    });
  });
}

const path = (planId: string, signal: AbortSignal) => ({ params: { path: { planId } }, signal });

export const planQuery = (org: string, planId: string) =>
  queryOptions({
    queryKey: [org, "plans", "plan", planId],
    queryFn: ({ signal }) => api.get("/iap/plan/{planId}", path(planId, signal)),
  });

export const reportQuery = (org: string, planId: string) =>
  queryOptions({
    queryKey: [org, "plans", "report", planId],
    queryFn: ({ signal }) => api.get("/iap/plan/{planId}/report", path(planId, signal)),
  });

export const treeQuery = (org: string, planId: string) =>
  queryOptions({
    queryKey: [org, "plans", "tree", planId],
    queryFn: ({ signal }) => api.get("/iap/plan/{planId}/merkle-tree", path(planId, signal)),
  });
