import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { inbox } from "../../words/inbox";
import { placeOf } from "./place";

const place = (kind: string, title = "Agent billing was stopped by a trip") =>
  placeOf({ kind, title, subjectId: "x" } as Parameters<typeof placeOf>[0]);

it("leads to what a notification is about", () => {
  expect(place("approval.opened")).toEqual({ to: "/approvals/$id", params: { id: "x" } });
  expect(place("profile.proposed")).toEqual({ to: "/policies/proposals/$id", params: { id: "x" } });
  expect(place("agent.tripped")).toEqual({ to: "/agents/$id", params: { id: "x" } });
  expect(place("agent.tripped", "API key 0199 was stopped by a trip")).toEqual({ to: "/agents" });
  expect(place("mcp.tools_held")).toEqual({ to: "/servers/$id", params: { id: "x" } });
  expect(place("webhook.disabled")).toEqual({ to: "/settings/webhooks/$id", params: { id: "x" } });
  expect(place("key.handed_over")).toEqual({ to: "/settings/keys" });
});

it("has a place for every kind that the inbox names, and knows the server's word for keys", () => {
  expect(Object.keys(inbox.kinds).filter((kind) => !place(kind))).toEqual([]);
  const server = new URL("../../../../internal/notification/notice/agent.go", import.meta.url);
  expect(readFileSync(server, "utf8")).toContain('of = "API key "');
});
