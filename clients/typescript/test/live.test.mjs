// The client and a real server: $WRIT_URL, $WRIT_API_KEY, and $WRIT_ACCESS_TOKEN of the person who answers.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Denied, NotVerified, verifyReceipt, Writ } from "@writ/client";

const { WRIT_URL: url, WRIT_API_KEY: apiKey, WRIT_ACCESS_TOKEN: accessToken } = process.env;
const writ = new Writ({ url, apiKey, agent: "billing" });
const steps = [{ mcp: "vault", action: "pay", params: { to: "landlord" } }];
const policy = `version: v1
name: typescript-client
rules:
  - {id: small, effect: allow, tools: ["vault.pay"], when: args.amount > 0 && args.amount <= 1000}
  - {id: large, effect: hold, tools: ["vault.pay"], when: args.amount > 1000}
  - {id: acme, effect: allow, tools: ["acme.vault.pay", "acme.list"]}
`;

async function person(method, path, body, type = "application/json") {
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": type };
  const answer = await fetch(url + path, {
    method,
    headers,
    body: type.endsWith("yaml") ? body : JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

before(async () => {
  const { policy: made, id = made?.id } = await person("POST", "/policies", policy, "application/yaml");
  await person("POST", `/policies/${id}/activate`);
});

/** guarded declares a plan and guards a function that remembers its calls. */
async function guarded(options) {
  const plan = await writ.declare({ goal: "pay the rent", steps });
  const ran = [];
  const pay = plan.guard("vault.pay", (args) => ran.push(args.amount), options);
  return { plan, ran, pay };
}

test("an allowed call runs, is reported, and its receipt is verified", async () => {
  const { plan, ran, pay } = await guarded();
  await pay({ to: "landlord", amount: 900 });
  assert.deepEqual(ran, [900]);
  const report = await person("GET", `/iap/plan/${plan.id}/report`);
  assert.deepEqual([report.allowed, report.executed, report.drift], [1, 1, []]);

  const { receipt } = await plan.decide({ server: "vault", tool: "pay", arguments: { to: "landlord", amount: 1 } });
  const { keys } = await person("GET", "/audit-log/key");
  const { record, payloadText: payload, salt } = await person("GET", `/audit-log/entries/${receipt.index}`);
  assert.equal((await verifyReceipt(receipt, keys, { record, payload, salt })).record.verdict, "allow");
  await assert.rejects(verifyReceipt(receipt, keys, { record, payload: `${payload} `, salt }), NotVerified);
  const forged = { record: record.replace('"allow"', '"deny"') };
  await assert.rejects(verifyReceipt(receipt, keys, forged), NotVerified);
});

test("a misspelled member of a step is told", async (t) => {
  const told = t.mock.method(console, "warn", () => {});
  const misspelled = [{ mcp: "vault", action: "pay", parms: { to: "landlord" } }];
  const plan = await writ.declare({ goal: "pay", steps: misspelled });
  assert.match(plan.token.warnings[0], /^step 0: parms is not read/);
  assert.equal(told.mock.callCount(), 1);
});

test("a plan that lives shorter than was asked is told, as where milliseconds are given", async (t) => {
  const told = t.mock.method(console, "warn", () => {});
  await writ.declare({ goal: "pay", steps: [{ mcp: "vault", action: "pay" }] }, { expiresIn: 3_600_000 });
  assert.match(told.mock.calls[0].arguments[1], /^it lives 86400 seconds, not 3600000/);
});

test("the server knows where a name with dots is cut", async () => {
  const named = [
    { mcp: "acme", action: "list" },
    { mcp: "acme.vault", action: "pay" },
  ];
  const plan = await writ.declare({ goal: "pay", steps: named });
  const ran = [];
  await plan.guard("acme.vault.pay", (args) => ran.push(args.amount))({ amount: 5 });
  await plan.guard("acme.list", (args) => ran.push(args.amount))({ amount: 6 });
  assert.deepEqual(ran, [5, 6]);
  const report = await person("GET", `/iap/plan/${plan.id}/report`);
  assert.deepEqual([report.allowed, report.executed, report.drift], [2, 2, []]);
});

test("what is not in the plan, or after its end, does not run", async () => {
  const { plan, ran, pay } = await guarded();
  await assert.rejects(pay({ to: "mallory", amount: 900 }), { name: "Denied", verdict: "deny" });
  await plan.end();
  await assert.rejects(pay({ to: "landlord", amount: 900 }), Denied);
  assert.deepEqual(ran, []);
});

test("a held call does not run by itself", async () => {
  const { ran, pay } = await guarded();
  await assert.rejects(pay({ to: "landlord", amount: 2001 }), (denied) => {
    assert.deepEqual([denied.verdict, typeof denied.approvalId], ["hold", "string"]);
    return denied instanceof Denied;
  });
  await assert.rejects(pay({ to: "landlord", amount: 2001 }), Denied);
  assert.deepEqual(ran, []);
});

const answered = (how, more) => ({
  wait: 60_000,
  onHeld: ({ approvalId }) => void person("POST", `/delegation/${how}`, { delegationId: approvalId, ...more }),
});

test("a held call runs once when a person agrees", async () => {
  const { ran, pay } = await guarded(answered("approve"));
  await pay({ to: "landlord", amount: 2002 });
  assert.deepEqual(ran, [2002]);
});

test("a rejected call does not run, and says why", async () => {
  const { ran, pay } = await guarded(answered("reject", { note: "paid already" }));
  await assert.rejects(pay({ to: "landlord", amount: 2003 }), /paid already/);
  assert.deepEqual(ran, []);
});

test("changed arguments are given to the caller, and run when it calls with them", async () => {
  const { ran, pay } = await guarded(answered("approve", { arguments: { to: "landlord", amount: 1500 } }));
  const denied = await pay({ to: "landlord", amount: 2004 }).catch((error) => error);
  assert.ok(denied instanceof Denied);
  assert.deepEqual(denied.editedArguments, { to: "landlord", amount: 1500 });
  await pay(denied.editedArguments);
  assert.deepEqual(ran, [1500]);
});

test("a wait that ends is still a hold", async () => {
  const { ran, pay } = await guarded({ wait: 10 });
  await assert.rejects(pay({ to: "landlord", amount: 2005 }), { name: "Denied", verdict: "hold" });
  assert.deepEqual(ran, []);
});

test("a key that the server does not know declares nothing", async () => {
  const stranger = new Writ({ url, apiKey: "ak_test_nobody" });
  await assert.rejects(stranger.declare({ goal: "pay", steps }), Denied);
});
