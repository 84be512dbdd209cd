import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../../api/client";
import { useLive, useLiveState } from "../../live/useLive";
import { useOrg, useOrgIfAny } from "../org";
import { announce } from "./announce";

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

/** useCountsLive reads them again when something happened, and tells it outside the page. The shell calls it once. */
export function useCountsLive(): void {
  const client = useQueryClient();
  const org = useOrg();
  useLive((events) => {
    const told = events.flatMap((e) => (e.kind === "notification" ? [e.notification] : []));
    if (told.length === 0) return;
    const again = () => void client.invalidateQueries({ queryKey: [org.id, "inbox"] });
    again();
    // What a person is told is written a moment after the event.
    setTimeout(again, 2000);
    void client.invalidateQueries({ queryKey: [org.id, "approvals", "waiting"] });
    announce(told, org.id);
  });
  const { state, paused } = useLiveState();
  const polls = state.is === "polling" && !paused;
  useEffect(() => {
    if (!polls) return;
    const timer = setInterval(() => void client.invalidateQueries({ queryKey: [org.id] }), 15_000);
    return () => clearInterval(timer);
  }, [polls, client, org.id]);
}
