// An organization with plans, decisions of every verdict and hostile words in all that agents, and people who write
// policies, can name. Made through the real API.
import { generateKeyPairSync } from "node:crypto";
import { caller } from "./server.mjs";
import { corpus, evil, forgeries } from "./xss.mjs";

/** seedEvidence makes it, and gives what tests look for. */
export async function seedEvidence(env) {
  const { owner, server } = env;
  const org = await owner("POST", "/organization", { name: `Evidence ${corpus[1]}` });
  const { apiKey } = await owner("POST", "/api-keys", { name: "evidence", organizationId: org.id });
  const agent = caller(server.url, { "x-api-key": apiKey });
  await activate(owner, org.id);
  const plan = await declare(agent, {
    goal: `pay the rent ${evil(0)} ${forgeries[0]}`,
    steps: [
      { action: "send_money", mcp: "bank", params: { to: "landlord", note: forgeries[0] }, max_calls: 2 },
      { action: "fetch", mcp: "web", description: evil(7), params: { url: evil(8) } },
      {
        action: "search",
        mcp: "web",
        strict: true,
        params: { amount: 12345678, deep: { list: [1, 2, forgeries[1]] } },
      },
    ],
  });
  const delegated = await delegate(agent, plan);
  const decisions = [];
  const ask = async (tool, args, extra = {}) =>
    decisions.push(
      await agent("POST", "/iap/sdk/enforce", {
        tool,
        arguments: args,
        agent_id: "billing",
        intent_token: plan,
        ...extra,
      }),
    );
  await ask("send_money", { to: "landlord", note: forgeries[0], amount: 900 });
  await ask("send_money", { to: forgeries[0], amount: 900 });
  await ask("send_money", { to: "mallory", amount: 50_000 });
  await ask("fetch", { url: evil(8), x: evil(3) });
  await ask("delete_everything", { really: forgeries[1], text: evil(4) });
  for (let n = 0; n < 14; n++) {
    await agent("POST", "/iap/enforce", {
      tool_name: n % 2 ? `web.${["fetch", "search"][n % 2]}` : "files.read",
      tool_input: { note: evil(n), [forgeries[0]]: forgeries[n % 2], secret_token: "abc", rate: "1.50" },
      agent_id: n % 5 === 1 ? evil(n).slice(0, 60) : "billing",
      session_id: evil(n).slice(0, 60),
      user_id: "ada",
    });
  }
  const held = await agent("POST", "/iap/enforce", called("transfer", { to: evil(4), amount: 5 }));
  const asked = await agent("POST", "/iap/enforce", called("send_mail", { to: evil(5), text: forgeries[1] }));
  return { held, asked, org: org.id, orgName: org.name, apiKey, plan: plan.plan_id, decisions, delegated };
}

/** delegate hands a part of a plan to an agent with a hostile name, and revokes another part. */
async function delegate(agent, plan) {
  const hand = (target_agent, delegate_public_key) =>
    agent("POST", "/iap/trust/delegate", {
      token: plan.token,
      delegate_public_key,
      allowed_actions: ["fetch"],
      validity_seconds: 600,
      budget: 20,
      target_agent,
    });
  const kept = await hand(evil(2).slice(0, 60), generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }).x);
  const ended = await hand("former", generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }).x);
  await agent("POST", "/iap/trust/revoke", { token: plan.token, trustId: ended.trustId, reason: evil(4) });
  return kept.trustId;
}

const called = (tool_name, tool_input) => ({
  tool_name,
  tool_input,
  agent_id: evil(6).slice(0, 60),
  session_id: evil(1).slice(0, 60),
  user_id: "ada",
});

async function activate(owner, organizationId) {
  const policy = await owner("POST", `/policies?organizationId=${organizationId}`, {
    version: "v1",
    name: `payments ${corpus[0]}`,
    default: "deny",
    rules: [
      { id: "small", effect: "allow", tools: ["bank.send_money"], when: "amount(args) <= 1000" },
      { id: "large", effect: "hold", tools: ["bank.send_money"], when: "amount(args) > 1000", message: evil(2) },
      { id: "read", effect: "allow", tools: ["web.fetch"] },
      { id: "wait", effect: "hold", tools: ["local.transfer"], message: `${evil(3)} ${forgeries[0]}` },
      { id: "sure", effect: "ask", tools: ["local.send_mail"], message: evil(5) },
      { id: "no-files", effect: "deny", tools: ["files.*"], message: `${evil(6)} ${forgeries[0]}` },
    ],
  });
  await owner("POST", `/policies/${policy.policyId ?? policy.id}/activate?organizationId=${organizationId}`, {});
}

const declare = (agent, plan) =>
  agent("POST", "/iap/sdk/token", {
    user_id: "ada",
    agent_id: "billing",
    context_id: "default",
    expires_in: 3600,
    plan,
  });
