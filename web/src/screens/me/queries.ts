import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";

export type SessionRow = Body<"SessionBody">;
export type Identity = Body<"IdentityBody">;

export const sessionsQuery = queryOptions({
  queryKey: ["me", "sessions"],
  queryFn: ({ signal }) => api.get("/auth/sessions", { signal }),
});

export const identitiesQuery = queryOptions({
  queryKey: ["me", "identities"],
  queryFn: ({ signal }) => api.get("/auth/identities", { signal }),
  retry: false,
});

export const profileQuery = queryOptions({
  queryKey: ["me", "profile"],
  queryFn: ({ signal }) => api.get("/user/profile", { signal }),
});

export const factorQuery = queryOptions({
  queryKey: ["me", "second-factor"],
  queryFn: ({ signal }) => api.get("/user/second-factor", { signal }),
});

/** membersQuery reads to whom keys may be handed over, as far as one page goes. */
export const membersQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "heirs"],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/members", {
        params: { path: { orgId: org }, query: { limit: 200 } },
        signal,
      }),
  });
