// Where a notification leads: what it tells of, or the list that has it.
import type { LinkProps } from "@tanstack/react-router";
import type { Notification } from "./queries";

/** placeOf is what to open for a notification; undefined: it is about nothing that has a page. */
export function placeOf(n: Pick<Notification, "kind" | "subjectId" | "title">): LinkProps | undefined {
  const params = { id: n.subjectId };
  const [area] = n.kind.split(".");
  if (area === "approval") return { to: "/approvals/$id", params };
  if (area === "profile") return { to: "/policies/proposals/$id", params };
  // What is stopped and is no agent has no page: it stands above the list of agents.
  if (area === "agent") return n.title.startsWith("Agent ") ? { to: "/agents/$id", params } : { to: "/agents" };
  if (area === "mcp") return { to: "/servers/$id", params };
  if (area === "webhook") return { to: "/settings/webhooks/$id", params };
  return area === "key" ? { to: "/settings/keys" } : undefined;
}
