import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { statusOf } from "../../api/errors";
import { fresh, listQuery, optionsQuery, pageSize, queryClient } from "../../app/queries";

export type Member = Body<"MemberBody">;
export type Role = Member["role"];
export type Key = Body<"KeyBody">;
export type Hook = Body<"WebhookBody">;
export type Delivery = Body<"DeliveryBody">;
export type Provider = Body<"IdentityProviderBody">;
export type ForwardingSettings = Body<"ForwardingBody">;

export const roleNames: Role[] = ["owner", "admin", "approver", "member", "viewer"];

/** within are the parameters of a route about one organization. */
export const within = (orgId: string) => ({ path: { orgId } });

export const membersQuery = (org: string) =>
  listQuery([org, "members"], (cursor, signal) =>
    api.get("/organization/{orgId}/members", {
      params: { ...within(org), query: { limit: pageSize, ...(cursor ? { cursor } : {}) } },
      signal,
    }),
  );

export const invitesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "invites"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/invites", { params: within(org), signal }),
  });

export const rolesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "roles"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/roles", { params: within(org), signal }),
    staleTime: fresh.never,
  });

/** keysQuery reads the keys that the caller may see, or only one of them. */
export const keysQuery = (org: string, id?: string) =>
  listQuery([org, "keys", ...(id ? [id] : [])], async (cursor, signal) => {
    const page = await api.get("/api-keys", {
      params: { query: { organizationId: org, limit: pageSize, ...(id ? { id } : {}), ...(cursor ? { cursor } : {}) } },
      signal,
    });
    return { items: page.data, nextCursor: page.nextCursor, hasMore: page.hasMore };
  });

/** orNone is what was read, or null where nothing is set up. */
const orNone = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((error) => {
    if (statusOf(error) === 404) return null;
    throw error;
  });

/** where reads what the server offers, and does not ask for what it does not: that would be an error in the console. */
async function where<T>(offers: "billing" | "referrals", read: () => Promise<T>): Promise<T | null> {
  return (await queryClient.ensureQueryData(optionsQuery))[offers] ? read() : null;
}

export const providerQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "identity-provider"],
    queryFn: ({ signal }) =>
      orNone(api.get("/organization/{orgId}/identity-provider", { params: within(org), signal })),
    staleTime: fresh.settings,
  });

export const webhooksQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "webhooks"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/webhooks", { params: within(org), signal }),
  });

export const webhookQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "webhooks", id],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/webhooks/{id}", { params: { path: { orgId: org, id } }, signal }),
  });

export const deliveriesQuery = (org: string, id: string, status: Delivery["status"] | undefined) =>
  listQuery([org, "webhooks", id, "deliveries", status ?? ""], (cursor, signal) =>
    api.get("/organization/{orgId}/webhooks/{id}/deliveries", {
      params: {
        path: { orgId: org, id },
        query: { limit: pageSize, ...(cursor ? { cursor } : {}), ...(status ? { status } : {}) },
      },
      signal,
    }),
  );

export const forwardingQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "forwarding"],
    queryFn: ({ signal }) => orNone(api.get("/organization/{orgId}/forwarding", { params: within(org), signal })),
    staleTime: fresh.settings,
  });

export const forwardingStatusQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "forwarding", "status"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/forwarding/status", { params: within(org), signal }),
    refetchInterval: 15_000,
  });

export const enforcementQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "enforcement"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/enforcement", { params: within(org), signal }),
    staleTime: fresh.settings,
  });

/** billingQuery reads the plan; null: nobody pays on this server. */
export const billingQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "billing", "plan"],
    queryFn: ({ signal }) =>
      where("billing", () => api.get("/billing/plan", { params: { query: { organizationId: org } }, signal })),
    staleTime: fresh.settings,
  });

export const billingUsageQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "billing", "usage"],
    queryFn: ({ signal }) => api.get("/billing/usage", { params: { query: { organizationId: org } }, signal }),
  });

export const invoicesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "billing", "invoices"],
    queryFn: ({ signal }) =>
      api.get("/billing/invoices", { params: { query: { organizationId: org, limit: 50 } }, signal }),
  });

/** referralsQuery reads what referrals brought; null: they are off on this server. */
export const referralsQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "referrals"],
    queryFn: ({ signal }) =>
      where("referrals", () => api.get("/referral/stats", { params: { query: { organizationId: org } }, signal })),
    staleTime: fresh.settings,
  });

/** referralCodeQuery reads the organization's code; null: it has none yet. */
export const referralCodeQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "referrals", "code"],
    queryFn: ({ signal }) => orNone(api.get("/referral/code", { params: { query: { organizationId: org } }, signal })),
    staleTime: fresh.settings,
  });

export const retentionQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "retention"],
    queryFn: ({ signal }) => api.get("/organization/{orgId}/retention", { params: within(org), signal }),
    staleTime: fresh.settings,
  });
