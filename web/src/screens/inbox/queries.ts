import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { fresh, listQuery, pageSize } from "../../app/queries";

export type Notification = Body<"NotificationBody">;

/** inboxQuery reads the notifications of the person, the newest first. */
export function inboxQuery(org: string, only: "unread" | undefined) {
  return listQuery([org, "inbox", "list", only ?? "all"], (cursor, signal) =>
    api.get("/notifications", {
      params: {
        query: {
          organizationId: org,
          limit: pageSize,
          ...(cursor ? { cursor } : {}),
          ...(only ? { unread: "true" as const } : {}),
        },
      },
      signal,
    }),
  );
}

export const preferencesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "notification-preferences"],
    queryFn: ({ signal }) =>
      api.get("/notifications/preferences", { params: { query: { organizationId: org } }, signal }),
    staleTime: fresh.settings,
  });
