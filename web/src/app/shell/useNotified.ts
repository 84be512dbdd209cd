import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive, useLiveState } from "../../live/useLive";
import { useOrg } from "../org";
import { readAgain } from "../readAgain";
import { announce } from "./announce";

// What of the approvals follows events by itself. A history does not: a pill counts what is new above it.
const following = ["waiting", "pending", "allows", "like"];

function follow(client: QueryClient, org: string) {
  void readAgain(client, [org, "inbox"]);
  for (const part of following) void readAgain(client, [org, "approvals", part]);
}

/**
 * useNotified reads the inbox and the requests again when something happened to them, and tells it outside the page.
 * The shell calls it once: what a screen read a moment ago and shows again must not be older than the event.
 */
export function useNotified(): void {
  const client = useQueryClient();
  const org = useOrg();
  useLive((events) => {
    const told = events.flatMap((e) => (e.kind === "notification" ? [e.notification] : []));
    if (told.length === 0) return;
    follow(client, org.id);
    // What a person is told is written a moment after the event.
    setTimeout(() => void readAgain(client, [org.id, "inbox"]), 2000);
    for (const id of new Set(told.map((n) => n.requestId))) void readAgain(client, [org.id, "approvals", "one", id]);
    announce(told, org.id);
  });
  const { state, paused } = useLiveState();
  // Nobody told what happened between the reading of a page and the beginning of its events.
  const begun = state.is === "live";
  useEffect(() => {
    if (!begun) return;
    follow(client, org.id);
    void readAgain(client, [org.id, "approvals", "one"]);
  }, [begun, client, org.id]);
  const polls = state.is === "polling" && !paused;
  useEffect(() => {
    if (!polls) return;
    const timer = setInterval(() => void client.invalidateQueries({ queryKey: [org.id] }), 15_000);
    return () => clearInterval(timer);
  }, [polls, client, org.id]);
}
