// Agents: who acts, what binds them, and the kill switch while they act.
import { join } from "./agents.seed.mjs";
import { axeProblems, openContext, problemsOf, settled, signInContext } from "./browser.mjs";
import { caller } from "./server.mjs";

const everyCall = 20; // milliseconds: 50 calls a second

/** newOrganization is one with a policy that allows everything, and a key bound to an agent. */
async function newOrganization(env, agentId) {
  const org = await env.owner("POST", "/organization", { name: `Agents of ${agentId}` });
  const within = `organizationId=${org.id}`;
  const key = await env.owner("POST", "/api-keys", { name: "key", organizationId: org.id });
  const policy = await env.owner("POST", `/policies?${within}`, {
    version: "v1",
    name: "everything",
    default: "allow",
    rules: [],
  });
  await env.owner("POST", `/policies/${policy.policyId ?? policy.id}/activate?${within}`, {});
  await env.owner("POST", `/agent/register?${within}`, { agentId, keys: [key.id] });
  const agent = caller(env.server.url, { "x-api-key": key.apiKey });
  const ask = () => agent("POST", "/iap/enforce", { tool_name: "web.search", tool_input: {}, agent_id: agentId });
  return { id: org.id, within, ask };
}

/** running calls 50 times a second until it is stopped, and gives the answers. */
function running(ask) {
  const answers = [];
  const calls = [];
  const timer = setInterval(() => calls.push(ask().then((said) => answers.push(said))), everyCall);
  return {
    answers,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(calls);
      return answers;
    },
  };
}

async function until(holds, within = 30_000) {
  const end = Date.now() + within;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${within} ms for ${holds}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const liftOf = (subject) => ({ scope: "agent", subject, reason: "fourth", lift: true });
const killed = (org, env) => env.owner("GET", `/audit-log/entries?${org.within}&action=agent.killed&limit=100`);
const dialogOf = (page) => page.getByRole("dialog");

async function fillKill(page, agentId, reason = "runaway") {
  await page.getByRole("button", { name: "Kill…" }).click();
  await dialogOf(page).getByLabel("Reason").fill(reason);
  await dialogOf(page).getByLabel(`Type ${agentId} to go on`).fill(agentId);
}

const press = (page, name) => dialogOf(page).getByRole("button", { name }).click();

/** signedIn is a page of somebody else. */
async function signedIn(env, { email, password }) {
  const context = await openContext(env.browser, env.server.url);
  await signInContext(context, env.server.url, email, password);
  return { context, page: await context.newPage() };
}

export function tests({ test, env }) {
  test("agents: a kill during 50 calls a second, by keyboard, and the last allow stands before it", async () => {
    const wrong = [];
    const org = await newOrganization(env, "runaway");
    const page = await env.page();
    await page.goto(env.within("/agents/runaway", org.id));
    await settled(page);
    const run = running(org.ask);
    await until(() => run.answers.length > 25);

    // Tab and Enter alone.
    await page.getByRole("button", { name: "Kill…" }).focus();
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor();
    const submit = dialogOf(page).getByRole("button", { name: "Stop runaway" });
    if ((await submit.getAttribute("aria-disabled")) !== "true") wrong.push("nothing has to be typed");
    await tabTo(page, "Reason");
    await page.keyboard.type("pays the wrong people");
    await tabTo(page, "Type runaway to go on");
    await page.keyboard.type("runaway");
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "agents-kill-dialog");
    await page.keyboard.press("Enter");
    const told = dialogOf(page).getByRole("status");
    await told.getByText("No call was allowed after it").waitFor();
    await told.getByText("1 key stops with it.").waitFor();
    const [stop, last] = (await told.getByRole("link").allInnerTexts()).map((text) => Number(text.replace(/\D/g, "")));
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "agents-killed");
    const before = run.answers.length;
    await until(() => run.answers.length > before + 25);
    const answers = await run.stop();

    const filter = `${org.within}&action=call.decided&agent=runaway&limit=1`;
    const allow = (await env.owner("GET", `/audit-log/entries?${filter}&decision=allow`)).items[0];
    const deny = (await env.owner("GET", `/audit-log/entries?${filter}&decision=deny`)).items[0];
    const kills = (await killed(org, env)).items;
    if (kills.length !== 1 || kills[0].index !== stop) wrong.push(`kills ${kills.map((k) => k.index)}, shown ${stop}`);
    if (allow.index !== last) wrong.push(`the last allow is ${allow.index}, shown ${last}`);
    if (!(allow.index < stop)) wrong.push(`the allow ${allow.index} stands behind the kill ${stop}`);
    if (!(deny.index > stop)) wrong.push("nothing was asked after the kill");
    if (answers.length < 50) wrong.push(`only ${answers.length} calls were answered`);

    await page.keyboard.press("Enter"); // Close has the focus
    await dialogOf(page).waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Stopped now" }).getByText("pays the wrong people").waitFor();
    await page.getByText("Killed", { exact: true }).waitFor();
    await env.shoot(page, "agents-killed-page");
    const tree = await page.locator("main").ariaSnapshot();
    for (const part of [
      'heading "runaway"',
      'link "Proof of entry',
      'button "Revive…"',
      'navigation "About this agent"',
    ])
      if (!tree.includes(part)) wrong.push(`the accessibility tree has no ${part}`);

    await page.goto(env.within("/settings/keys", org.id));
    await page.getByText("Stopped", { exact: true }).waitFor();
    await page.goto(env.within("/agents/runaway", org.id));

    await page.getByRole("button", { name: "Revive…" }).click();
    await dialogOf(page).getByLabel("Reason").fill("the prompt was fixed");
    await press(page, "Let it act again");
    await dialogOf(page).getByText("It may act again, from entry").waitFor();
    await press(page, "Close");
    await page.getByText("Active", { exact: true }).waitFor();
    if ((await org.ask()).decision !== "allow") wrong.push("it does not act again");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("agents: the answer to a kill is lost: it is asked for, and not sent twice", async () => {
    const wrong = [];
    const org = await newOrganization(env, "lost");
    await org.ask();
    const page = await env.page();
    let sent = 0;
    let reaches = true;
    await page.route("**/kill-switch", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      sent++;
      if (reaches) await route.fetch();
      return route.abort("connectionreset");
    });
    await page.goto(env.within("/agents/lost", org.id));
    await settled(page);
    await fillKill(page, "lost");
    await press(page, "Stop lost");
    await dialogOf(page).getByRole("alert").getByText("it is not known whether this was done").waitFor();
    await env.shoot(page, "agents-kill-unknown");
    wrong.push(...(await axeProblems(page)));
    if (await dialogOf(page).getByRole("button", { name: "Stop lost" }).count()) wrong.push("it can be sent again");
    if (await dialogOf(page).getByLabel("Reason").isEnabled()) wrong.push("what was sent can be changed");
    await press(page, "Ask the server");
    await dialogOf(page).getByText("Stopped at entry").waitFor();
    if (sent !== 1) wrong.push(`it was sent ${sent} times`);
    await press(page, "Close");

    // It is lost on its way there.
    reaches = false;
    await page.getByRole("button", { name: "Revive…" }).click();
    await dialogOf(page).getByLabel("Reason").fill("again");
    await press(page, "Let it act again");
    await press(page, "Ask the server");
    await dialogOf(page).getByText("the server has not done it").waitFor();
    if (sent !== 2) wrong.push(`it was sent ${sent} times, by itself`);
    await page.unroute("**/kill-switch");
    await press(page, "Let it act again");
    await dialogOf(page).getByText("It may act again, from entry").waitFor();
    const kills = (await killed(org, env)).items.length;
    if (kills !== 1) wrong.push(`the log has ${kills} kills`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("agents: two people stop and revive at once, and each sees what is true", async () => {
    const wrong = [];
    const org = await newOrganization(env, "both");
    await org.ask();
    const admin = await join(env, org.id, "admin@example.org", "admin");
    const theirs = await signedIn(env, admin);
    const page = await env.page();
    for (const p of [page, theirs.page]) {
      await p.goto(env.within("/agents/both", org.id));
      await settled(p);
      await fillKill(p, "both", p === page ? "first" : "second");
    }
    await press(page, "Stop both");
    await dialogOf(page).getByText("Stopped at entry").waitFor();
    await press(theirs.page, "Stop both");
    await dialogOf(theirs.page).getByText("It was stopped before, by").waitFor();
    await dialogOf(theirs.page).getByText("first", { exact: true }).waitFor();
    const kills = (await killed(org, env)).items.length;
    if (kills !== 1) wrong.push(`the log has ${kills} kills`);
    for (const p of [page, theirs.page]) {
      await press(p, "Close");
      await p.getByRole("button", { name: "Revive…" }).click();
      await dialogOf(p).getByLabel("Reason").fill("fixed");
    }
    await press(page, "Let it act again");
    await dialogOf(page).getByText("It may act again, from entry").waitFor();
    await press(theirs.page, "Let it act again");
    await dialogOf(theirs.page).getByRole("alert").getByText("it is not stopped").waitFor();
    await env.shoot(theirs.page, "agents-lift-conflict");
    const again = dialogOf(theirs.page).getByRole("button", { name: "Let it act again" });
    if ((await again.getAttribute("aria-disabled")) !== "true") wrong.push("what conflicts can be sent again");
    await press(theirs.page, "Cancel");
    await theirs.page.getByText("Active", { exact: true }).waitFor();

    // A stop that came since is not lifted by somebody who saw the one before.
    await press(page, "Close");
    await fillKill(page, "both", "third");
    await press(page, "Stop both");
    await dialogOf(page).getByText("Stopped at entry").waitFor();
    await press(page, "Close");
    await page.getByRole("button", { name: "Revive…" }).click();
    await dialogOf(page).getByLabel("Reason").fill("the third was a mistake");
    await env.owner("POST", `/organization/${org.id}/kill-switch`, liftOf("both"));
    await env.owner("POST", `/organization/${org.id}/kill-switch`, { ...liftOf("both"), lift: false });
    await press(page, "Let it act again");
    await dialogOf(page).getByRole("alert").getByText("is not the one that you have seen").waitFor();
    await env.shoot(page, "agents-lift-another");
    if ((await org.ask()).decision === "allow") wrong.push("a stop that nobody saw was lifted");
    wrong.push(...(await problemsOf(page)), ...(await problemsOf(theirs.page)));
    await page.close();
    await theirs.context.close();
    return wrong;
  });

  test("agents: a viewer sees and cannot, and an approver only if the organization says so", async () => {
    const wrong = [];
    const org = await newOrganization(env, "seen");
    await org.ask();
    for (const role of ["viewer", "approver"]) {
      const person = await join(env, org.id, `${role}@example.org`, role);
      const { context, page } = await signedIn(env, person);
      await page.goto(env.within("/agents", org.id));
      await page.getByRole("link", { name: "seen" }).click();
      await page.getByRole("heading", { name: "seen", level: 1 }).waitFor();
      await page.getByRole("list", { name: "Decisions" }).getByText("search").waitFor();
      for (const name of ["Kill…", "Suspend…"]) {
        const button = page.getByRole("button", { name });
        if ((await button.getAttribute("aria-disabled")) !== "true") wrong.push(`${role}: ${name} can be used`);
        await button.click({ force: true });
        if (await dialogOf(page).count()) wrong.push(`${role}: ${name} opens`);
      }
      for (const tab of ["Plans", "Traces", "Policies", "Keys", "Certificates", "Leases", "Trips"]) {
        await page.getByRole("navigation", { name: "About this agent" }).getByRole("link", { name: tab }).click();
        await settled(page);
        for (const text of await page.locator(".state[role=alert], .error-banner").allInnerTexts())
          wrong.push(`${role}, ${tab}: ${text}`);
      }
      await env.shoot(page, `agents-${role}`);
      const answer = await person
        .call("POST", `/organization/${org.id}/kill-switch`, { scope: "agent", subject: "seen", reason: "x" })
        .then(() => "did it", String);
      if (!answer.includes("403")) wrong.push(`${role} kills: ${answer}`);
      if (role === "approver") {
        await env.owner("PUT", `/organization/${org.id}/agents/settings`, {
          unregisteredMayAct: true,
          approversMayKill: true,
        });
        await page.reload();
        await page.locator('button.danger:not([aria-disabled="true"])', { hasText: "Kill…" }).waitFor();
      }
      wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
      await context.close();
    }
    return wrong;
  });

  test("agents: who stops a name that nobody has seen is told so", async () => {
    const wrong = [];
    const org = await newOrganization(env, "typist");
    await org.ask();
    const page = await env.page();
    await page.goto(env.within("/agents", org.id));
    await settled(page);
    for (const [server, unseen] of [
      ["wbe", true],
      ["local", false],
    ]) {
      await page.getByRole("button", { name: "Kill switch…" }).click();
      await dialogOf(page).getByLabel("A server, for every agent").check();
      await dialogOf(page).getByLabel("Server", { exact: true }).fill(server);
      await dialogOf(page).getByRole("button", { name: "attack" }).click();
      await dialogOf(page).getByLabel(`Type ${server} to go on`).fill(server);
      await press(page, `Stop ${server}`);
      await dialogOf(page).getByText("Stopped at entry").waitFor();
      const told = await dialogOf(page).getByRole("alert").getByText("perhaps it is misspelled").count();
      if (told > 0 !== unseen) wrong.push(`${server}: told ${told} times that nobody has seen it`);
      await env.shoot(page, `agents-unseen-${server}`);
      wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
      await press(page, "Close");
    }
    await page.close();
    return wrong;
  });

  test("agents: the whole organization is stopped by its name, from a phone", async () => {
    const wrong = [];
    const org = await newOrganization(env, "phone");
    await org.ask();
    const page = await env.page();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(env.within("/agents", org.id));
    await settled(page);
    await page.getByRole("button", { name: "Kill switch…" }).click();
    await dialogOf(page).getByLabel("Every agent of the organization").check();
    await dialogOf(page).getByRole("button", { name: "attack" }).click();
    await dialogOf(page).getByLabel("Type Agents of phone to go on").fill("Agents of phone");
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "agents-phone-dialog");
    await press(page, "Stop Agents of phone");
    await dialogOf(page).getByText("No call was allowed after it").waitFor();
    await press(page, "Close");
    await page.getByRole("region", { name: "Stopped now" }).getByText("attack").waitFor();
    if ((await org.ask()).decision === "allow") wrong.push("a call is allowed");
    await env.shoot(page, "agents-phone");
    await page.getByRole("button", { name: "Lift…" }).click();
    await dialogOf(page).getByLabel("Reason").fill("over");
    await press(page, "Let it act again");
    await dialogOf(page).getByText("It may act again, from entry").waitFor();
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });
}

// Moves the focus as people without a mouse do, until a field of that name has it.
async function tabTo(page, label) {
  for (let n = 0; n < 30; n++) {
    const name = await page.evaluate(() => document.activeElement?.labels?.[0]?.textContent ?? "");
    if (name === label) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${label}`);
}
