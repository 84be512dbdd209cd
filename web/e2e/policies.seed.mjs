// Policies with hostile words in all that people and plugins can write into them. Made through the real API.
import { caller } from "./server.mjs";
import { corpus, evil } from "./xss.mjs";

const hostile = (tools) => ({
  version: "v1",
  name: `evil ${corpus[0]}`,
  description: corpus[1],
  default: "deny",
  rules: [
    {
      id: "large",
      effect: "hold",
      tools,
      when: `args.note == "${corpus[0].replaceAll('"', "'")}"`,
      message: corpus[2],
    },
    { id: "all", effect: "deny", tools: ["danger.*"], description: corpus[4] },
    { id: "again", effect: "allow", tools: ["danger.wipe"] },
  ],
});

/** profileOf is what a plugin proposes. */
export const profileOf = (name, start = corpus[0]) => ({
  policy: {
    schemaVersion: "armor.policy.v1",
    kind: "PolicyProfile",
    metadata: { name, description: corpus[0] },
    defaults: { decision: "allow", conflictResolution: "deny_overrides" },
    statements: [
      {
        id: "no-destruction",
        effect: "forbid",
        principal: { type: "agent", id: "*" },
        action: { type: "tool", eq: "Bash" },
        resource: { type: "workspace", scope: "current" },
        conditions: [
          { field: "bash.program", op: "in", value: ["rm", "sudo"] },
          { field: "bash.raw", op: "starts_with", value: start },
        ],
      },
    ],
  },
});

/** seedPolicies gives an organization a policy of two versions, bound, with a replay, and a proposal. */
export async function seedPolicies(url, owner, org) {
  const within = `organizationId=${org}`;
  const made = await owner("POST", `/policies?${within}`, hostile(["bank.*"]));
  await owner("PUT", `/policies/${made.id}`, hostile(["bank.*", "web.*"]));
  await owner("PUT", `/policies/${made.id}/bindings`, { clients: [evil(1), evil(7)], roles: ["viewer"] });
  await owner("POST", `/policy-replays?${within}`, { policyId: made.id, version: 2, days: 7 });
  const { apiKey } = await owner("POST", "/api-keys", {
    name: evil(2),
    organizationId: org,
    scopes: ["enforce", "profile.propose"],
  });
  const plugin = caller(url, { "x-api-key": apiKey });
  await plugin("PUT", "/policies/profiles/draft", profileOf(`evil ${corpus[3]}`));
  const proposed = await plugin("POST", "/policies/profiles/propose", { reason: evil(6) });
  return { policy: made.id, proposal: proposed.id };
}
