import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../../api/client";
import { useLive, useLiveState } from "../../live/useLive";
import { useOrg } from "../org";

/** useCounts are the numbers of the navigation: what is unread. */
export function useCounts(): { inbox: number } {
  const org = useOrg();
  const unread = useQuery({
    queryKey: [org.id, "inbox", "unread"],
    queryFn: ({ signal }) =>
      api.get("/notifications/unread-count", { params: { query: { organizationId: org.id } }, signal }),
  });
  return { inbox: unread.data?.unread ?? 0 };
}

/** useCountsLive reads them again when something happened. The shell calls it once. */
export function useCountsLive(): void {
  const client = useQueryClient();
  const org = useOrg();
  useLive((events) => {
    if (events.some((e) => e.kind === "notification")) void client.invalidateQueries({ queryKey: [org.id, "inbox"] });
  });
  const { state, paused } = useLiveState();
  const polls = state.is === "polling" && !paused;
  useEffect(() => {
    if (!polls) return;
    const timer = setInterval(() => void client.invalidateQueries({ queryKey: [org.id] }), 15_000);
    return () => clearInterval(timer);
  }, [polls, client, org.id]);
}
