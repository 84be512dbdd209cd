import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { writeExact } from "../../api/exact";
import { fresh, listQuery, pageSize } from "../../app/queries";
import type { SearchOf } from "../../app/search";
import type { approvalsSearch } from "./search";

export type Approval = Body<"ApprovalBody">;
export type Shown = Body<"ShownApprovalBody">;
export type Scope = Body<"ScopeBody">;
export type Allow = Body<"AllowBody">;
export type Plan = Body<"PlanBody">;
export type HistorySearch = SearchOf<typeof approvalsSearch>;

const mostPages = 5;

/** pendingQuery reads all that waits. More than 500 are cut, and said to be. */
export const pendingQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "approvals", "pending"],
    queryFn: async ({ signal }) => {
      const items: Approval[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < mostPages; page++) {
        const query = {
          organizationId: org,
          status: "pending" as const,
          limit: pageSize,
          ...(cursor ? { cursor } : {}),
        };
        const read = await api.get("/delegation/requests", { params: { query }, signal });
        items.push(...read.items);
        cursor = read.nextCursor;
        if (!read.hasMore) return { items, cut: false };
      }
      return { items, cut: true };
    },
  });

/** readRequest reads one request as it is now. */
export const readRequest = (org: string, id: string, signal?: AbortSignal) =>
  api.get("/delegation/requests/{id}", {
    params: { path: { id }, query: { organizationId: org } },
    ...(signal ? { signal } : {}),
  });

export const requestKey = (org: string, id: string) => [org, "approvals", "one", id] as const;

export const requestQuery = (org: string, id: string) =>
  queryOptions({ queryKey: requestKey(org, id), queryFn: ({ signal }) => readRequest(org, id, signal) });

/** historyQuery reads requests, the newest first. */
export function historyQuery(org: string, search: HistorySearch) {
  const { status, tool, agentId, risk, kind } = search;
  const filter = {
    ...(status && status !== "all" ? { status } : {}),
    ...(tool ? { tool } : {}),
    ...(agentId ? { agentId } : {}),
    ...(risk ? { risk } : {}),
    ...(kind ? { kind } : {}),
  };
  return listQuery([org, "approvals", "history", filter], (cursor, signal) =>
    api.get("/delegation/requests", {
      params: { query: { organizationId: org, limit: pageSize, ...filter, ...(cursor ? { cursor } : {}) } },
      signal,
    }),
  );
}

/** likeQuery reads earlier requests of the same tool and agent. */
export function likeQuery(org: string, of: Approval) {
  const query = {
    organizationId: org,
    limit: 21,
    tool: of.tool,
    ...(of.agentId ? { agentId: of.agentId } : {}),
  };
  return queryOptions({
    queryKey: [org, "approvals", "like", query, of.delegationId],
    queryFn: async ({ signal }) => {
      const read = await api.get("/delegation/requests", { params: { query }, signal });
      return read.items.filter((r) => r.delegationId !== of.delegationId && r.server === of.server).slice(0, 20);
    },
  });
}

/** planQuery reads the plan of a call, which says what it gives for its arguments. */
export const planQuery = (org: string, planId: string) =>
  queryOptions({
    queryKey: [org, "plans", "plan", planId],
    queryFn: ({ signal }) => api.get("/iap/plan/{planId}", { params: { path: { planId } }, signal }),
  });

export const allowsQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "approvals", "allows"],
    queryFn: ({ signal }) => api.get("/delegation/allows", { params: { query: { organizationId: org } }, signal }),
  });

const day = 86_400_000;

export const figuresQuery = (org: string, days: number) =>
  queryOptions({
    queryKey: [org, "approvals", "figures", days],
    queryFn: ({ signal }) =>
      api.get("/delegation/figures", {
        params: { query: { organizationId: org, since: new Date(Date.now() - days * day).toISOString() } },
        signal,
      }),
  });

/** previewQuery asks what a standing approval would permit, in the server's words. */
export const previewQuery = (org: string, approvalId: string, scope: Scope | undefined) =>
  queryOptions({
    queryKey: [org, "approvals", "preview", approvalId, scope ? writeExact(scope, 0) : ""],
    queryFn: ({ signal }) =>
      api.post("/delegation/preview", {
        params: { query: { organizationId: org } },
        body: { approvalId, ...(scope ? { scope } : {}) },
        signal,
      }),
    enabled: scope !== undefined,
    staleTime: fresh.never,
  });

async function readMembers(org: string, signal: AbortSignal): Promise<Body<"MemberBody">[]> {
  const members: Body<"MemberBody">[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: 200, ...(cursor ? { cursor } : {}) };
    const read = await api.get("/organization/{orgId}/members", { params: { path: { orgId: org }, query }, signal });
    members.push(...read.items);
    cursor = read.hasMore ? read.nextCursor : undefined;
  } while (cursor && members.length < 2000);
  return members;
}

/** peopleQuery is the names of the members, by their ids. */
export const peopleQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "people"],
    queryFn: async ({ signal }) => new Map((await readMembers(org, signal)).map((m) => [m.userId, m.name || m.email])),
    staleTime: fresh.settings,
  });

const approving = ["owner", "admin", "approver"];

/** approversQuery is the ids of all who may approve. It is read anew: somebody may have joined or left. */
export const approversQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "people", "approvers"],
    queryFn: async ({ signal }) =>
      (await readMembers(org, signal)).filter((m) => approving.includes(m.role)).map((m) => m.userId),
  });

/** answersQuery is how the organization answers requests. */
export const answersQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "approvals", "settings"],
    queryFn: ({ signal }) => api.get("/delegation/settings", { params: { query: { organizationId: org } }, signal }),
  });
