// An organization with approvers, a viewer and calls that wait: planned ones, ones beside the plan, hostile ones. Made
// through the real API.
import { caller, signIn } from "./server.mjs";
import { corpus, evil, forgeries } from "./xss.mjs";

const password = "a long enough password";

/** seedApprovals makes it, and gives what tests need. */
export async function seedApprovals(env) {
  const { owner } = env;
  const org = await owner("POST", "/organization", { name: `Approvals ${corpus[1]}` });
  const people = {};
  for (const [name, role] of [
    ["ann", "approver"],
    ["bob", "admin"],
    ["mia", "member"],
    ["vic", "viewer"],
  ])
    people[name] = await join(env, org.id, `${name}@approvals.example`, role);
  await activate(owner, org.id);
  return { org: org.id, people, password };
}

/**
 * agentOf gives the organization another agent: a key of its own, with a plan. Many requests of one key within minutes
 * are a risk, the more so at night, and tests must pass at any hour.
 */
export async function agentOf(env, org) {
  const { apiKey } = await env.owner("POST", "/api-keys", { name: "approvals", organizationId: org });
  const agent = caller(env.server.url, { "x-api-key": apiKey });
  const plan = await agent("POST", "/iap/sdk/token", {
    user_id: "ada",
    agent_id: "billing",
    context_id: "default",
    expires_in: 3600,
    plan: {
      goal: `pay the rent ${evil(0)}`,
      steps: [{ action: "send_money", mcp: "bank", params: { to: "landlord" } }],
    },
  });
  return { agent, plan };
}

// join gives somebody an account, and a role.
async function join(env, org, email, role) {
  const { url } = env.server;
  const anyone = caller(url, {});
  const name = email.split("@")[0];
  await env.owner("POST", `/organization/${org}/members/invite`, { email, role });
  await anyone("POST", "/auth/register", { email, password, name });
  const mailed = (form) =>
    until(() =>
      env.server
        .mails()
        .filter((text) => text.includes(email))
        .map((text) => form.exec(text)?.[1])
        .findLast(Boolean),
    );
  await anyone("POST", "/auth/verify-otp", { email, code: await mailed(/Your code is (\d{6})/), password });
  const token = await mailed(/invites\/accept\?token=([\w-]+)/);
  const call = await signIn(url, email, password);
  await call("POST", "/organization/invites/accept", { token });
  const me = await call("GET", "/auth/me");
  return { email, call, id: me.user.id };
}

async function activate(owner, org) {
  const policy = await owner("POST", `/policies?organizationId=${org}`, {
    version: "v1",
    name: `payments ${corpus[0]}`,
    default: "deny",
    rules: [
      { id: "large", effect: "hold", tools: ["bank.send_money"], when: "amount(args) > 1000", message: evil(2) },
      { id: "small", effect: "allow", tools: ["bank.send_money"], when: "amount(args) <= 1000" },
      { id: "two", effect: "hold", tools: ["vault.open"], approvers: { role: "approver", count: 2 } },
      { id: "wait", effect: "hold", tools: ["local.*"], message: `${evil(3)} ${forgeries[0]}` },
      { id: "notes", effect: "hold", tools: ["notes.*"] },
    ],
  });
  await owner("POST", `/policies/${policy.policyId ?? policy.id}/activate?organizationId=${org}`, {});
}

let made = 0;

/** ask has the agent ask for a call that waits, and gives its request. Each is another call. */
export async function ask(s, tool = "notes.write", args = {}, extra = {}) {
  const answer = await s.agent("POST", "/iap/enforce", {
    tool_name: tool,
    tool_input: { note: `note ${++made}`, ...args },
    agent_id: "billing",
    session_id: "s1",
    user_id: "ada",
    ...extra,
  });
  if (!answer.approvalId) throw new Error(`${tool} does not wait: ${JSON.stringify(answer)}`);
  return answer.approvalId;
}

/** pay has the agent ask for a payment within its plan. */
export async function pay(s, args) {
  const call = { tool: "send_money", arguments: args, agent_id: "billing", intent_token: s.plan };
  return s.agent("POST", "/iap/sdk/enforce", call);
}

/** askBeside has a client ask by itself for a call that its plan gives otherwise. */
export const askBeside = (s, args) =>
  s
    .agent("POST", "/delegation/request", {
      tool: "send_money",
      action: "execute",
      domain: "bank",
      arguments: args,
      requesterEmail: "ada@example.org",
      planId: s.plan.plan_id,
      reason: evil(4),
    })
    .then((r) => r.delegationId);

/** until waits for something to be there. */
export async function until(look) {
  for (let n = 0; n < 600; n++) {
    const found = look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("it did not come");
}
