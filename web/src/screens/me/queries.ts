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
