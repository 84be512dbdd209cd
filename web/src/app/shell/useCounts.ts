import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client";
import { useOrgIfAny } from "../org";

/** useCounts are the numbers of the navigation: what is unread, and what waits for people who may answer it. */
export function useCounts(): { inbox: number; approvals: number } {
  const org = useOrgIfAny();
  const id = org?.id ?? "";
  const unread = useQuery({
    queryKey: [id, "inbox", "unread"],
    queryFn: ({ signal }) =>
      api.get("/notifications/unread-count", { params: { query: { organizationId: id } }, signal }),
    enabled: org !== undefined,
  });
  const waiting = useQuery({
    queryKey: [id, "approvals", "waiting"],
    // What waits is counted now, whatever the period of the other figures; a short one is quick.
    queryFn: ({ signal }) =>
      api.get("/delegation/figures", {
        params: { query: { organizationId: id, since: new Date(Date.now() - 60_000).toISOString() } },
        signal,
      }),
    enabled: org !== undefined && (org.rights as string[]).includes("approvals.decide"),
  });
  return { inbox: unread.data?.unread ?? 0, approvals: waiting.data?.waiting ?? 0 };
}
