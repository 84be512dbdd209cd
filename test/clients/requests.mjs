// The requests of the published SDKs 0.3.9 (Python) and 0.4.3 (TypeScript, Python), as they send them, and the members
// of answers that they read. They cannot be installed here; this is what is known of them.
import { caller } from "../../web/e2e/server.mjs";

/** requests sends all of them and gives a row for each: method of the SDK, request, and what came of it. */
export async function requests(url, { apiKey, email }, owner) {
  const both = { Authorization: `Bearer ${apiKey}`, "X-API-Key": apiKey };
  const known = { url, email, owner, both, bearer: { Authorization: `Bearer ${apiKey}` } };
  // check-approved finds an approval only where no other call of the tool waits.
  for (const { delegationId } of (await owner("GET", "/delegation/requests?status=pending")).items) {
    await owner("POST", "/delegation/cancel", { delegationId });
  }
  const rows = [];
  for (const [method, request, send] of calls) {
    const [verb, path] = request.split(" ");
    const wrong = await send(known, sender(url, verb), path).catch(withoutIds);
    rows.push({ method, request, result: wrong ? `does not work: ${wrong}` : "works" });
  }
  return rows;
}

/** withoutIds is what an error says, without what differs from run to run. */
function withoutIds(error) {
  return error.message.replace(/[0-9a-f-]{36}/g, "…").replaceAll("|", "");
}

function sender(url, verb) {
  return (path, headers, body) => caller(url, headers)(verb, path, body);
}

/** lacking says which members of an answer are not of the kind that the SDKs read; undefined: none. */
function lacking(answer, kinds) {
  for (const [path, kind] of Object.entries(kinds)) {
    const value = path.split(".").reduce((part, step) => part?.[step], answer);
    const is = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    if (is !== kind && value !== kind) return `${path} is ${JSON.stringify(value)}, and should be ${kind}`;
  }
  return undefined;
}

const step = {
  action: "send_money",
  tool: "send_money",
  mcp: "bank",
  params: { to: "landlord" },
  description: "Call send_money on bank",
};
const plan = { goal: "agent task", steps: [step] };
const signed = Object.fromEntries(
  Object.entries({
    plan_hash: "string",
    issued_at: "number",
    expires_at: "number",
    policy: "object",
    identity: "string",
    public_key: "string",
    version: "string",
    signature: "string",
  }).map(([name, kind]) => [`token.${name}`, kind]),
);

/** rawOf is the token as the SDKs send it back. */
function rawOf(token) {
  const { plan_id, plan_hash, merkle_root, intent_reference, composite_identity, step_proofs } = token;
  return {
    plan,
    plan_id,
    token: token.token,
    plan_hash,
    merkle_root,
    intent_reference,
    composite_identity,
    step_proofs,
  };
}

async function mint(known, send) {
  const body = {
    user_id: known.email,
    agent_id: "billing",
    context_id: "default",
    plan,
    policy: null,
    expires_in: 3600,
  };
  const post = send ?? ((path, headers, sent) => caller(known.url, headers)("POST", path, sent));
  known.token = await post("/iap/sdk/token", known.both, body);
  return known.token;
}

const enforce = (amount, want) => async (known, send, path) => {
  const body = {
    tool: "send_money",
    arguments: { to: "landlord", amount },
    intent_token: rawOf(known.token),
    user_email: known.email,
  };
  return lacking(await send(path, known.both, { ...body, agent_id: "billing" }), { reason: "string", ...want });
};

const emailed = (known) => ({ ...known.both, "X-User-Email": known.email });

const calls = [
  ["`ArmorIQClient(…)`", "GET /health", async (known, send, path) => void (await send(path, known.both))],
  [
    "`getIntentToken`",
    "POST /iap/sdk/token",
    async (known, send) =>
      lacking(await mint(known, send), { ...signed, plan_id: "string", step_proofs: "array", jwt_token: "string" }),
  ],
  [
    "session, allowed",
    "POST /iap/sdk/enforce",
    enforce(900, { allowed: true, enforcementAction: "allow", "matchedPolicy.name": "payments" }),
  ],
  ["session, denied", "POST /iap/sdk/enforce", enforce(-1, { allowed: false, enforcementAction: "block" })],
  ["session, held", "POST /iap/sdk/enforce", enforce(5000, { allowed: false, enforcementAction: "hold" })],
  [
    "session in mode proxy",
    "POST /invoke",
    async (known, send, path) => {
      const params = { to: "landlord", amount: 900 };
      const call = { mcp: "bank", tool: "send_money", action: "send_money", params, arguments: params };
      const sent = { ...call, enforce_only: true, intent_token: rawOf(known.token), plan };
      return lacking(await send(path, known.both, sent), { allowed: true, action: "allow", reason: "string" });
    },
  ],
  [
    "`session.report`",
    "POST /iap/audit",
    async (known, send, path) => {
      const call = { action: "send_money", tool: "send_money", mcp: "bank", input: { to: "landlord", amount: 900 } };
      const about = { token: known.token.jwt_token, plan_id: known.token.plan_id, step_index: 0 };
      const sent = {
        ...about,
        ...call,
        output: { text: "sent" },
        status: "success",
        executed_at: new Date().toISOString(),
      };
      return lacking(await send(path, known.both, sent), { iap_sync_status: "synced" });
    },
  ],
  [
    "held: ask a person",
    "POST /delegation/request",
    async (known, send, path) => {
      const call = {
        tool: "send_money",
        action: "send_money",
        arguments: { to: "landlord", amount: 5000 },
        amount: 5000,
      };
      const asked = {
        ...call,
        requesterEmail: known.email,
        requesterRole: "agent_user",
        requesterLimit: 0,
        domain: "bank",
      };
      const answer = await send(path, emailed(known), { ...asked, planId: known.token.plan_id, reason: "the rent" });
      known.delegationId = answer.delegationId;
      return lacking(answer, { delegationId: "string", status: "pending", expiresAt: "string" });
    },
  ],
  [
    "held: a person approved",
    "GET /delegation/check-approved",
    async (known, send, path) => {
      await known.owner("POST", "/delegation/approve", { delegationId: known.delegationId });
      const answer = await send(`${path}?tool=send_money&amount=5000.0`, emailed(known));
      return lacking(answer, {
        approved: true,
        delegationId: "string",
        approverEmail: "string",
        approverRole: "string",
      });
    },
  ],
  [
    "held: it ran",
    "POST /delegation/mark-executed",
    async (known, send, path) => void (await send(path, emailed(known), { delegationId: known.delegationId })),
  ],
  [
    "role of a person",
    "GET /delegation/my-role",
    async (known, send, path) => lacking(await send(path, emailed(known)), { role: "string" }),
  ],
  [
    "`preflight`",
    "POST /iap/sdk/preflight",
    async (known, send, path) => {
      const sent = {
        agent_id: "billing",
        user_prompt: "pay",
        tool_calls: [{ name: "bank__send_money", input: { to: "x" } }],
      };
      return lacking(await send(path, known.both, sent), { decision: "string", violations: "array" });
    },
  ],
  [
    "`bootstrap`",
    "POST /iap/sdk/bootstrap",
    async (known, send, path) =>
      lacking(await send(path, known.both, {}), { "org.name": "string", mcps: "array", "toolMap.send_money": "bank" }),
  ],
  [
    "`forUser`",
    "POST /iap/sdk/resolve-user",
    async (known, send, path) => void (await send(path, known.both, { userEmail: known.email })),
  ],
  [
    "servers",
    "GET /mcp/my-servers",
    async (known, send, path) =>
      lacking(await send(path, known.both), { "data.0.name": "bank", "data.0.url": "string" }),
  ],
  [
    "tools of a server",
    "GET /mcp/tools/{mcp}",
    async (known, send) => lacking(await send("/mcp/tools/bank", known.both), { "data.tools": "array" }),
  ],
  [
    "metadata of tools",
    "GET /mcp/tool-metadata/{mcp}",
    async (known, send) =>
      lacking(await send("/mcp/tool-metadata/bank", known.both), {
        "data.name": "bank",
        "data.toolMetadata": "object",
      }),
  ],
  [
    "tokens that a model used",
    "POST /dashboard/token-usage",
    async (known, send, path) => {
      const entry = { model: "gpt-4o-mini", inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 };
      const answer = await send(path, known.both, {
        product: "armorclaude",
        sessionId: crypto.randomUUID(),
        entries: [entry],
      });
      return lacking(answer, { recorded: "number" });
    },
  ],
  [
    "`reanchor`",
    "POST /iap/trust/reanchor",
    async (known, send, path) => {
      const narrower = { ...plan, steps: [{ ...step, strict: true, params: { to: "landlord", amount: 1 } }] };
      const answer = await send(path, known.bearer, {
        newPlan: narrower,
        reason: "narrower",
        planId: known.token.plan_id,
      });
      return lacking(answer, { trustId: "string", delta: "object" });
    },
  ],
  [
    "`revoke`",
    "POST /iap/trust/revoke",
    async (known, send, path) => {
      await mint(known);
      const sent = { token: known.token.token, reason: "done", cascade: true, planId: known.token.plan_id };
      return lacking(await send(path, known.bearer, sent), { trustId: "string", delta: "object" });
    },
  ],
  [
    "a plan has ended",
    "POST /iap/plans/{planId}/status",
    async (known, send) => {
      const { plan_id: id } = await mint(known);
      return void (await send(`/iap/plans/${id}/status`, known.both, { status: "completed" }));
    },
  ],
  [
    "CLI: sign-in",
    "POST /auth/device/code",
    async (_, send, path) =>
      lacking(await send(path, {}, { client_id: "armoriq-cli" }), { device_code: "string", user_code: "string" }),
  ],
];
