// What an organization has beside its agents' work: keys, people, webhooks, messages.
import { caller } from "./server.mjs";
import { evil } from "./xss.mjs";

/** seedPeople gives an organization keys, an invitation, a webhook, forwarding and notifications. */
export async function seedPeople(url, owner, org, key) {
  for (const n of [0, 1, 2, 3, 4])
    await owner("POST", "/api-keys", { name: evil(n).slice(0, 100), organizationId: org });
  const revoked = await owner("POST", "/api-keys", { name: "old", organizationId: org });
  await owner("POST", `/api-keys/${revoked.id}/revoke`);
  await owner("POST", `/organization/${org}/members/invite`, { email: "guest@example.org", role: "viewer" });
  const hook = await owner("POST", `/organization/${org}/webhooks`, {
    name: evil(5).slice(0, 100),
    kind: "generic",
    url: "https://hooks.example.org/secret",
  });
  await owner("PATCH", `/organization/${org}/webhooks/${hook.id}`, { enabled: false });
  await owner("PUT", `/organization/${org}/forwarding`, {
    endpoint: "https://collector.example.org",
    headers: { "x-api-key": "secret" },
    enabled: false,
  });
  const agent = caller(url, { "x-api-key": key });
  for (const n of [0, 1, 2, 3])
    await agent("POST", "/delegation/request", {
      tool: n % 2 === 0 ? "send_money" : evil(n).slice(0, 120),
      action: "execute",
      domain: "bank",
      arguments: { note: evil(n), n },
      requesterEmail: "ada@example.org",
      reason: evil(n),
    });
  return { webhook: hook.id };
}
