// What a guarded function does with answers, good and bad. The package is the one that was packed and installed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Denied, Writ } from "@writ/client";
import { standIn } from "./stand-in.mjs";

const cases = JSON.parse(readFileSync(new URL("../../testdata/answers.json", import.meta.url), "utf8"));
const plan = { goal: "pay", steps: [{ mcp: "bank", action: "send_money" }] };

/** guarded gives a function behind a server that answers with one case, and how often it ran. */
async function guarded(answer, options) {
  const server = await standIn(answer);
  const ran = [];
  // Only an answer that never ends needs a limit, and then it does not matter which answer it cuts off.
  const writ = new Writ({ url: server.url, apiKey: "ak_test_1", timeout: answer.status < 0 ? 400 : 60_000 });
  const pay = async (args) => {
    const declared = await writ.declare(plan);
    return declared.guard("bank.send_money", (given) => ran.push(given), options)(args);
  };
  return { ...server, pay, ran };
}

for (const answer of cases) {
  test(`${answer.name}: ${answer.runs ? "runs" : "does not run"}`, async () => {
    const { pay, ran, asked, stop } = await guarded(answer);
    try {
      if (answer.runs) {
        await pay({ to: "landlord" });
        assert.deepEqual(ran, [{ to: "landlord" }]);
        assert.ok(asked.includes("POST /iap/audit"), "the outcome is reported");
        return;
      }
      await assert.rejects(pay({ to: "landlord" }), Denied);
      assert.deepEqual(ran, []);
      assert.ok(!asked.some((request) => request.includes("/elsewhere")), "a redirect was followed");
    } finally {
      await stop();
    }
  });
}

const [allowed] = cases;
const denied = cases.find(({ name }) => name === "a deny");

test("no server at all is a deny", async () => {
  await assert.rejects(new Writ({ url: "http://127.0.0.1:9", apiKey: "k" }).declare(plan), Denied);
});

test("an error of the connection names the address", async () => {
  const { url, stop } = await standIn(allowed);
  await stop();
  const words = new RegExp(`the server at ${url}/writ did not answer: .*ECONNREFUSED`);
  await assert.rejects(new Writ({ url: `${url}/writ/`, apiKey: "k" }).declare(plan), words);
});

test("https to a server of http says what may be wrong", async () => {
  const { url, stop } = await standIn(allowed);
  const secure = url.replace("http:", "https:");
  const words = new RegExp(`the server at ${secure} did not answer: .*[^\\n]; does the server speak http\\?$`);
  await assert.rejects(new Writ({ url: secure, apiKey: "k" }).declare(plan), words).finally(stop);
});

test("what runs is what was judged, though the caller changes it meanwhile", async () => {
  const { url, stop } = await standIn(allowed);
  const ran = [];
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  const pay = declared.guard("bank.send_money", (given) => ran.push(given));
  const args = { to: "landlord", parts: [1] };
  const paid = pay(args);
  args.to = "mallory";
  args.parts.push(2);
  await paid;
  assert.deepEqual(ran, [{ to: "landlord", parts: [1] }]);
  await stop();
});

test("arguments that are no JSON object are a deny, and nobody is asked", async () => {
  const { pay, ran, asked, stop } = await guarded(allowed);
  const circle = {};
  circle.self = circle;
  for (const args of [circle, { n: 1n }, [1], "text"]) await assert.rejects(pay(args), Denied);
  assert.deepEqual(ran, []);
  assert.deepEqual([...new Set(asked)], ["POST /iap/sdk/token"]);
  await stop();
});

test("what JSON would make something else of is a deny that names it", async () => {
  const { pay, ran, asked, stop } = await guarded(allowed);
  for (const [args, words] of [
    [{ when: new Date() }, /argument when is a Date/],
    [{ deep: { list: [{ bytes: new Uint8Array(2) }] } }, /argument bytes is a Uint8Array/],
    [{ amount: Number.NaN }, /argument amount is NaN/],
    [{ amount: 1n }, /argument amount is a bigint/],
    [{ to: Promise.resolve("landlord") }, /argument to is a Promise/],
    [{ done: () => 1 }, /argument done is a function/],
    [{ price: { toJSON: () => 1 } }, /argument price is an object with a toJSON/],
    [new Map(), /arguments are a Map/],
    ["landlord", /one object/],
  ]) {
    await assert.rejects(pay(args), words);
  }
  assert.deepEqual([ran, [...new Set(asked)]], [[], ["POST /iap/sdk/token"]]);
  class Payment {
    to = "landlord";
    note = undefined;
  }
  await pay(new Payment());
  await pay(Object.assign(Object.create(null), { to: "landlord" }));
  assert.deepEqual(ran, [{ to: "landlord" }, { to: "landlord" }]);
  await stop();
});

/** holding answers that a call is held, plays the outages to who asks about its approval, and then approves it. */
function holding(...outages) {
  let approved = false;
  const held = { ...JSON.parse(allowed.body), allowed: false, decision: "hold", approvalId: "7" };
  return (path) => {
    if (!path.startsWith("/delegation/poll")) return approved ? allowed : { status: 200, body: JSON.stringify(held) };
    if (outages.length > 0) return { status: outages.shift(), body: JSON.stringify({ message: "no" }) };
    approved = true;
    return { status: 200, body: JSON.stringify({ status: "approved" }) };
  };
}

test("a server may start anew while a person is asked", async () => {
  const { pay, ran, stop } = await guarded(holding(0, 503), { wait: 600_000 });
  await pay({ to: "landlord" });
  assert.deepEqual(ran, [{ to: "landlord" }]);
  await stop();
});

test("what no waiting mends ends it, and the request stays known", async () => {
  const { pay, ran, stop } = await guarded(holding(401), { wait: 600_000 });
  await assert.rejects(pay({ to: "landlord" }), (error) => {
    assert.ok(error instanceof Denied);
    assert.match(error.message, /whether a person has agreed is not known/);
    assert.deepEqual([error.verdict, error.approvalId], ["hold", "7"]);
    return true;
  });
  assert.deepEqual(ran, []);
  await stop();
});

/** unanswered answers that a call is held, and that its approval request has this status. */
function unanswered(status) {
  const held = { ...JSON.parse(allowed.body), allowed: false, decision: "hold", reason: "held", approvalId: "7" };
  return (path) => ({ status: 200, body: JSON.stringify(path.startsWith("/delegation/poll") ? { status } : held) });
}

test("a wait that ends says that nobody answered", async () => {
  for (const [status, wait, words] of [
    ["pending", 200, "held; nobody answered within 200 ms"],
    ["pending", 1000, "held; nobody answered within 1 second"],
    ["pending", 1500, "held; nobody answered within 1.5 seconds"],
    ["expired", 600_000, "held; nobody answered before the first request expired"],
  ]) {
    const { pay, ran, stop } = await guarded(unanswered(status), { wait });
    const expected = { name: "Denied", message: words, verdict: "hold", approvalId: "7" };
    await assert.rejects(pay({ to: "landlord" }), expected).finally(stop);
    assert.deepEqual(ran, []);
  }
});

test("a long wait is told in minutes or hours", async (context) => {
  const { url, stop } = await standIn(unanswered("pending"));
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  context.after(stop);
  declared.wait = async () => ({ status: "pending" });
  for (const [wait, words] of [
    [60_000, /within 1 minute$/],
    [600_000, /within 10 minutes$/],
    [90_000, /within 90 seconds$/],
    [86_400_000, /within 24 hours$/],
  ]) {
    await assert.rejects(declared.guard("bank.send_money", () => 1, { wait })({}), words);
  }
});

test("what could run other than it was judged is refused before any call", async () => {
  const { url, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  const functions = [function* () {}, async function* () {}, (to, amount) => [to, amount], undefined, "text"];
  for (const run of functions) assert.throws(() => declared.guard("bank.send_money", run), TypeError);
  for (const name of [undefined, "", () => 1]) assert.throws(() => declared.guard(name, () => 1), TypeError);
  await stop();
});

test("a generator that is given as the result is refused, and reported as failed", async () => {
  const { url, asked, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  async function* parts() {}
  await assert.rejects(declared.guard("bank.send_money", () => parts())({}), /cannot be a generator/);
  assert.ok(asked.includes("POST /iap/audit"));
  await stop();
});

test("a time to wait that is no number is refused before any call", async () => {
  const { url, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  for (const wait of ["600", Number.NaN, -1, null]) {
    assert.throws(() => declared.guard("bank.send_money", () => 1, { wait }), /wait must be a number/);
  }
  await stop();
});

test("a method is called on what it was called on", async () => {
  const { url, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  class Bank {
    name = "first";
    pay({ to }) {
      return `${this.name}: ${to}`;
    }
  }
  Bank.prototype.pay = declared.guard("bank.send_money", Bank.prototype.pay);
  assert.equal(await new Bank().pay({ to: "landlord" }), "first: landlord");
  await stop();
});

test("what is not there is no wrong address", async () => {
  for (const [message, ends] of [
    ["no such approval request", /\(404\)$/],
    ["nothing is here", /is url the address of the server, without a path\?$/],
  ]) {
    const { url, stop } = await standIn({ status: 404, body: JSON.stringify({ message }) });
    const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
    await assert.rejects(declared.wait("ID", 1), ends);
    await stop();
  }
});

test("a time that no plan could live is refused", async () => {
  const writ = new Writ({ url: "http://127.0.0.1:9", apiKey: "k" });
  for (const expiresIn of [0, -3, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "1h"]) {
    await assert.rejects(writ.declare(plan, { expiresIn }), /^TypeError: expiresIn must be a number of seconds/);
  }
});

test("another server than ours is told from it", async () => {
  for (const [status, body, words] of [
    [404, "<html>", /no answer of a Writ server/],
    [200, "<html>", /is url the address of a Writ server/],
    [301, "", /redirect/],
  ]) {
    const { pay, ran, stop } = await guarded({ status, body, headers: { location: "/elsewhere" } });
    await assert.rejects(pay({}), words);
    assert.deepEqual(ran, []);
    await stop();
  }
});

test("onDenied gives what stands in place of a result", async () => {
  const { pay, ran, stop } = await guarded(denied, { onDenied: ({ message }) => `no: ${message}` });
  assert.equal(await pay({}), "no: not in the plan");
  assert.deepEqual(ran, []);
  await stop();
});

test("a call that fails is reported, and its error is the caller's", async () => {
  const { url, asked, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  const fail = declared.guard("bank.send_money", () => {
    throw new RangeError("no money");
  });
  await assert.rejects(fail({}), RangeError);
  assert.ok(asked.includes("POST /iap/audit"));
  await stop();
});

test("a result that is no JSON is reported all the same", async () => {
  const { url, asked, stop } = await standIn(allowed);
  const unreported = [];
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  const onUnreported = (error) => unreported.push(error);
  assert.equal(await declared.guard("bank.send_money", () => 10n, { onUnreported })({}), 10n);
  assert.deepEqual([unreported, asked.at(-1)], [[], "POST /iap/audit"]);
  await stop();
});

test("a callback that fails does not end the process, nor make a call that ran look as if it had not", async () => {
  const fail = async () => {
    throw new Error("nobody to tell");
  };
  const held = cases.find(({ name }) => name === "a hold");
  const body = JSON.stringify({ ...JSON.parse(held.body), approvalId: "1" });
  const waiting = await guarded({ ...held, body }, { wait: 1000, onHeld: fail });
  await assert.rejects(waiting.pay({}), /nobody to tell/);
  assert.deepEqual(waiting.ran, []);
  await waiting.stop();
  const { url, stop } = await standIn(allowed);
  const declared = await new Writ({ url, apiKey: "k" }).declare(plan);
  declared.report = fail;
  const { warn } = console;
  const warned = [];
  console.warn = (...words) => warned.push(words);
  assert.equal(await declared.guard("bank.send_money", () => "ran", { onUnreported: fail })({}), "ran");
  console.warn = warn;
  assert.equal(warned.length, 1);
  await stop();
});

test("the page has the members that the types have", () => {
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const dist = (name) => readFileSync(new URL(`node_modules/@writ/client/dist/${name}.d.ts`, import.meta.url), "utf8");
  const membersOf = (file, name) => {
    const [, body] = new RegExp(`interface ${name}\\b[^{]*\\{\\n(.*?)\\n\\}`, "s").exec(dist(file));
    return [...body.matchAll(/^ {4}(\w+\??):/gm)].map(([, member]) => member);
  };
  const call = membersOf("messages", "Call");
  for (const [before, members] of [
    ["new Writ(", membersOf("writ", "WritOptions")],
    ["writ.declare(plan, ", membersOf("writ", "DeclareOptions")],
    ["plan.guard(tool, run, ", membersOf("guard", "GuardOptions")],
    ["plan.decide(", call],
    ["plan.report(", [...call, ...membersOf("messages", "Report")]],
    ["verifyReceipt(receipt, keys, ", membersOf("receipt", "Entry")],
  ]) {
    assert.ok(page.includes(`\n${before}{ ${members.join(", ")} }`), `${before}{ ${members.join(", ")} }`);
  }
});

test("a Writ says which of its options is wrong", () => {
  assert.throws(() => new Writ({ url: "localhost:8080", apiKey: "k" }), /url/);
  assert.throws(() => new Writ({ url: "http://localhost", apiKey: "" }), /apiKey/);
  assert.throws(() => new Writ({ url: "http://localhost", apiKey: "k", timeout: 0 }), /timeout/);
  for (const url of [undefined, "", "http://", "http://localhost:x", "ftp://localhost", "http://localhost/?a"]) {
    assert.throws(() => new Writ({ url, apiKey: "k" }), /url/);
  }
});

test("no error repeats a secret", () => {
  for (const [url, apiKey] of [
    ["http://localhost", "ak_test_1\nsecret"],
    ["http://localhost", "ak_test_secr\u00e9t"],
    ["ak_test_secret", "http://localhost"],
    ["http://me:secret@localhost", "k"],
  ]) {
    assert.throws(
      () => new Writ({ url, apiKey }),
      (error) => error instanceof TypeError && !/secr/.test(error.message),
    );
  }
});

test("a key and an address are taken as a file has them", async () => {
  const { url, stop } = await standIn(allowed);
  assert.equal((await new Writ({ url: ` ${url}//\r\n`, apiKey: "ak_test_1\r\n" }).declare(plan)).id, "p");
  await stop();
});
