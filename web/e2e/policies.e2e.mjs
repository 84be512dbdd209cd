// Policies: written, tested, replayed, shadowed and activated, by mouse and by keyboard; and what goes wrong meanwhile.
import { join } from "./agents.seed.mjs";
import { axeProblems, openContext, problemsOf, settled, signInContext, tabTo } from "./browser.mjs";
import { profileOf } from "./policies.seed.mjs";
import { caller } from "./server.mjs";

const dialogOf = (page) => page.getByRole("dialog");
const press = (page, name) => dialogOf(page).getByRole("button", { name }).click();
const tab = (page, name) =>
  page.getByRole("navigation", { name: "About this policy" }).getByRole("link", { name }).click();
const editorOf = (page) => page.getByRole("textbox", { name: "Text of the policy, YAML" });

const textOf = (name, limit) => `version: v1
name: ${name}
default: deny
rules:
  - id: small
    effect: allow
    tools: [shop.refund]
    when: amount(args) <= ${limit}
  - id: large
    effect: hold
    tools: [shop.refund]
    when: amount(args) > ${limit}
`;

const testsOf = (decision) => `policy: policy.yaml
tests:
  - name: a refund of 80
    call: {server: shop, tool: refund, arguments: {amount: 80}}
    want: {decision: ${decision}}
`;

/** newPolicy is an organization in which an agent has refunded 20 and 80 under an active policy. */
export async function newPolicy(env, name) {
  const org = await env.owner("POST", "/organization", { name: `Policies of ${name}` });
  const within = `organizationId=${org.id}`;
  const { apiKey } = await env.owner("POST", "/api-keys", { name: "key", organizationId: org.id });
  const made = await env.owner("POST", `/policies?${within}`, documentOf(name));
  await env.owner("POST", `/policies/${made.id}/activate`, { version: 1 });
  const agent = caller(env.server.url, { "x-api-key": apiKey });
  const refund = async (amount) =>
    (
      await agent("POST", "/iap/enforce", {
        tool_name: "refund",
        tool_input: { amount },
        agent_id: "helper",
        session_id: "s",
        mcp_context: { server_name: "shop", tool_name: "refund" },
      })
    ).decision;
  await refund(20);
  await refund(80);
  return { id: made.id, org: org.id, within, refund, agent, path: env.within(`/policies/${made.id}`, org.id) };
}

const documentOf = (name) => ({
  version: "v1",
  name,
  default: "deny",
  rules: [{ id: "all", effect: "allow", tools: ["shop.refund"] }],
});

const activations = async (env, p) =>
  (await env.owner("GET", `/audit-log/entries?${p.within}&action=policy.activated&limit=100`)).items.length;

/** write replaces what an editor has, as a person pastes it. */
async function write(page, editor, text) {
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

async function save(page, version) {
  await page.getByRole("button", { name: "Save as next version" }).click();
  await page.getByText(`Saved as version ${version}.`).waitFor();
}

/** signedIn is a page of somebody else. */
async function signedIn(env, { email, password }) {
  const context = await openContext(env.browser, env.server.url);
  await signInContext(context, env.server.url, email, password);
  return { context, page: await context.newPage() };
}

export function tests({ test, env }) {
  test("policies: edited, tested, simulated, replayed, shadowed and activated by mouse", async () => {
    const wrong = [];
    const p = await newPolicy(env, "refunds");
    const page = await env.page();
    await page.goto(env.within("/policies", p.org));
    const row = page.getByRole("row").filter({ hasText: "refunds" });
    await row.getByText("Denies by default. Allows 1 kind of tools.").waitFor();
    await row.getByText("Active", { exact: true }).waitFor();
    await page.getByRole("link", { name: "refunds" }).click();

    // What is wrong is said with its place, and cannot be saved.
    await write(page, editorOf(page), textOf("refunds", 50).replace("effect: hold", "effect: hld"));
    const problem = page.getByRole("list", { name: "What is wrong" }).getByRole("button").first();
    await problem.getByText("line 10").waitFor();
    if (!(await page.getByRole("button", { name: "Save as next version" }).getAttribute("aria-disabled")))
      wrong.push("what is wrong can be saved");
    await page.locator(".cm-lintRange-error").first().waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-wrong");
    await problem.click();
    const focus = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    if (focus !== "Text of the policy, YAML") wrong.push(`a problem leads to ${focus}`);

    // Help for a function.
    await write(page, editorOf(page), textOf("refunds", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    await page.getByRole("list", { name: "In words" }).getByText("large: hold for shop.refund").waitFor();
    await page
      .locator(".cm-line", { hasText: "amount(args) <=" })
      .getByText("amount")
      .first()
      .hover()
      .catch(() => {});
    await page.locator(".cm-line", { hasText: "amount(args) <=" }).hover({ position: { x: 90, y: 8 } });
    await page.locator(".editor-tip").getByText("The largest of amount, value, total, price and cost").waitFor();
    await env.shoot(page, "policies-hover");
    await save(page, 2);

    await tab(page, "Tests");
    await write(page, page.getByRole("textbox", { name: "Tests, YAML" }), testsOf("allow"));
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByRole("region", { name: "Results of the tests" }).getByText("1 of 1 fail.").waitFor();
    await page.getByText("wants Allow, gets Hold").waitFor();
    await env.shoot(page, "policies-test-fails");
    await write(page, page.getByRole("textbox", { name: "Tests, YAML" }), testsOf("hold"));
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("The test passes.").waitFor();
    const simulate = page.getByRole("region", { name: "Simulate a call" });
    await simulate.getByLabel("Server").fill("shop");
    await simulate.getByLabel("Tool").fill("refund");
    await simulate.getByLabel("Arguments, JSON").fill('{"amount": 20}');
    await simulate.getByRole("button", { name: "Simulate" }).click();
    await simulate.getByRole("status").getByText("Allow", { exact: true }).first().waitFor();
    await simulate.getByRole("button", { name: "Add as a test" }).click();
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("All 2 tests pass.").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-tests-pass");

    await tab(page, "Replay");
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("2 calls judged").waitFor({ timeout: 30_000 });
    const change = page.getByRole("list", { name: "Calls that would change" }).getByRole("listitem");
    await change.getByText("Allow", { exact: true }).waitFor();
    await change.getByText("Hold", { exact: true }).waitFor();
    await change.getByText("helper").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-replayed");

    await tab(page, "Shadow");
    await page.getByRole("button", { name: "Run version 2 as a shadow…" }).click();
    await press(page, "Start the shadow");
    await dialogOf(page).getByText("Version 2 runs as a shadow now.").waitFor();
    await press(page, "Close");
    if ((await p.refund(90)) !== "allow") wrong.push("a shadow decides");
    const figures = page.getByRole("region", { name: /^What shadows of this policy/ });
    await figures
      .getByRole("listitem")
      .filter({ hasText: "Would hold" })
      .getByText("1", { exact: true })
      .waitFor({ timeout: 30_000 });
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-shadow");

    await page.getByRole("button", { name: "Activate v2…" }).click();
    const summary = dialogOf(page);
    await summary.getByText("Of 2 calls in 7 days, 1 would be answered stricter, 0 looser").waitFor();
    await summary.getByText("It counts for everybody.").waitFor();
    await summary.getByRole("region", { name: "What changes" }).getByText("large").first().waitFor();
    await summary.getByRole("region", { name: "On recorded calls" }).getByText("helper").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-activate");
    await press(page, "Activate version 2");
    await summary.getByText("Version 2 judges every call from now on.").waitFor();
    await press(page, "Close");
    if ((await p.refund(80)) !== "hold") wrong.push("the new version does not judge");
    if ((await activations(env, p)) !== 2) wrong.push("it was activated more than once");

    // The way back.
    await tab(page, "Versions");
    await page
      .getByRole("listitem")
      .filter({ hasText: "Version 1" })
      .getByRole("button", { name: "Roll back…" })
      .click();
    await dialogOf(page).getByLabel("Type refunds to go on").fill("refunds");
    await press(page, "Roll back");
    await dialogOf(page).getByText("Version 3 is active now.").waitFor();
    await press(page, "Close");
    if ((await p.refund(80)) !== "allow") wrong.push("it was not rolled back");
    await page.getByText("version 1 restored").waitFor();
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "policies-versions");
    await page.close();
    return wrong;
  });

  test("policies: the same with the keyboard alone, and as a screen reader reads it", async () => {
    const wrong = [];
    const p = await newPolicy(env, "keys");
    const page = await env.page();
    await page.goto(p.path);
    await editorOf(page).waitFor();
    await settled(page);
    await tabTo(page, "Text of the policy");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(textOf("keys", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    // Completion, and a way out of the editor.
    await page.keyboard.press("Control+End");
    await page.keyboard.type("  - id: third\n");
    await page.keyboard.type("eff");
    await page.getByRole("listbox").getByText("effect").waitFor();
    await page.keyboard.press("Enter");
    if (!(await editorOf(page).textContent()).includes("    effect: ")) wrong.push("completion writes no member");
    await page.keyboard.press("Escape");
    for (let n = 0; n < 8 && (await editorOf(page).textContent()).includes("third"); n++)
      await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(textOf("keys", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    await tabTo(page, "Save as next version");
    await page.keyboard.press("Enter");
    await page.getByText("Saved as version 2.").waitFor();

    const goTo = async (name) => {
      await page.evaluate(() => document.getElementById("content")?.focus());
      await tabTo(page, name);
      await page.keyboard.press("Enter");
    };
    await goTo("Tests");
    await page.getByRole("textbox", { name: "Tests, YAML" }).waitFor();
    await tabTo(page, "Tests, YAML");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(testsOf("hold"));
    await tabTo(page, "Run tests");
    await page.keyboard.press("Enter");
    await page.getByText("The test passes.").waitFor();
    await goTo("Replay");
    await page.getByRole("combobox", { name: "Days" }).waitFor();
    await tabTo(page, "Days");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("2 calls judged").waitFor({ timeout: 30_000 });
    await goTo("Shadow");
    await page.getByText("No version runs as a shadow.").waitFor();
    await tabTo(page, "Run version 2 as a shadow…");
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor();
    await tabTo(page, "Start the shadow");
    await page.keyboard.press("Enter");
    await dialogOf(page).getByText("Version 2 runs as a shadow now.").waitFor();
    await page.keyboard.press("Enter"); // Close has the focus
    await dialogOf(page).waitFor({ state: "detached" });
    await goTo("Activate v2…");
    await dialogOf(page).getByText("1 would be answered stricter").waitFor();
    const tree = await dialogOf(page).ariaSnapshot();
    for (const part of ['heading "What changes"', 'heading "For whom"', 'button "Activate version 2"'])
      if (!tree.includes(part)) wrong.push(`the accessibility tree has no ${part}`);
    await tabTo(page, "Activate version 2");
    await page.keyboard.press("Enter");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor({ state: "detached" });
    if ((await p.refund(80)) !== "hold") wrong.push("the new version does not judge");
    const whole = await page.locator("main").ariaSnapshot();
    for (const part of ['heading "keys"', 'navigation "About this policy"', 'button "Deactivate…"'])
      if (!whole.includes(part)) wrong.push(`the accessibility tree has no ${part}`);
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await page.close();
    return wrong;
  });

  test("policies: what was not replayed wants its name typed; on a phone", async () => {
    const wrong = [];
    const p = await newPolicy(env, "phone");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("phone"), default: "hold" });
    const page = await env.page();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(env.within("/policies", p.org));
    await page.getByRole("link", { name: "phone" }).click();
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByText("This version was not replayed.").waitFor();
    const act = dialogOf(page).getByRole("button", { name: "Activate version 2" });
    if ((await act.getAttribute("aria-disabled")) !== "true") wrong.push("nothing has to be typed");
    await dialogOf(page).getByLabel("Type phone to go on").fill("phone");
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "policies-phone-activate");
    await act.click();
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await press(page, "Close");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });
  testTrouble({ test, env });
  testOthers({ test, env });
}

// What goes wrong in the middle.
function testTrouble({ test, env }) {
  test("policies: the answer to an activation is lost, and it is not sent twice", async () => {
    const wrong = [];
    const p = await newPolicy(env, "lost");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("lost"), default: "ask" });
    const page = await env.page();
    let sent = 0;
    let reaches = false;
    await page.route("**/activate", async (route) => {
      sent++;
      if (reaches) await route.fetch();
      return route.abort("connectionreset");
    });
    await page.goto(p.path);
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByLabel("Type lost to go on").fill("lost");
    await press(page, "Activate version 2");
    await dialogOf(page).getByRole("alert").getByText("it is not known whether this was done").waitFor();
    await press(page, "Ask the server");
    await dialogOf(page).getByText("the server has not done it").waitFor();
    reaches = true;
    await press(page, "Activate version 2");
    await press(page, "Ask the server");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await env.shoot(page, "policies-found");
    if (sent !== 2) wrong.push(`it was sent ${sent} times`);
    if ((await activations(env, p)) !== 2) wrong.push("it was activated more than once");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("policies: two people activate at once, and each sees what is true", async () => {
    const wrong = [];
    const p = await newPolicy(env, "both");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("both"), default: "ask" });
    const theirs = await signedIn(env, await join(env, p.org, "policy-admin@example.org", "admin"));
    const page = await env.page();
    for (const one of [page, theirs.page]) {
      await one.goto(p.path);
      await one.getByRole("button", { name: "Activate v2…" }).click();
      await dialogOf(one).getByLabel("Type both to go on").fill("both");
    }
    await press(page, "Activate version 2");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await press(theirs.page, "Activate version 2");
    await dialogOf(theirs.page).getByRole("alert").getByText("version 2 is active by now").waitFor();
    const again = dialogOf(theirs.page).getByRole("button", { name: "Activate version 2" });
    if ((await again.getAttribute("aria-disabled")) !== "true") wrong.push("what conflicts can be sent again");
    await env.shoot(theirs.page, "policies-conflict");
    await press(theirs.page, "Cancel");
    if ((await activations(env, p)) !== 2) wrong.push("it was activated twice");

    // They write at once too. A page reads its policy again from time to time: theirs does not before it has sent.
    await press(page, "Close");
    let read = () => {};
    const sent = new Promise((done) => {
      read = done;
    });
    const late = async (route) => {
      if (route.request().method() === "GET") await sent;
      else read();
      return route.continue();
    };
    await theirs.page.route(`**/policies/${p.id}`, late);
    await theirs.page.route(`**/policies/${p.id}?*`, late);
    for (const [one, limit] of [
      [page, 10],
      [theirs.page, 99],
    ])
      await write(one, editorOf(one), textOf("both", limit));
    await save(page, 3);
    await theirs.page.getByText("Nothing is wrong with the text.").waitFor();
    await theirs.page.getByRole("button", { name: "Save as next version" }).click();
    await theirs.page.getByText("Version 3 was written while you wrote. Nothing of yours was stored.").waitFor();
    await theirs.page.locator(".line-row.minus", { hasText: "amount(args) <= 10" }).waitFor();
    await theirs.page.locator(".line-row.plus", { hasText: "amount(args) <= 99" }).waitFor();
    wrong.push(...(await axeProblems(theirs.page)));
    await env.shoot(theirs.page, "policies-both-wrote");
    await theirs.page.getByRole("button", { name: "Keep mine, on top of theirs" }).click();
    await save(theirs.page, 4);
    wrong.push(...(await problemsOf(page)), ...(await problemsOf(theirs.page)));
    await page.close();
    await theirs.context.close();
    return wrong;
  });

  test("policies: the session ends in the middle: the text stays, and the activation waits", async () => {
    const wrong = [];
    const p = await newPolicy(env, "session");
    const person = await join(env, p.org, "policy-session@example.org", "admin");
    const { context, page } = await signedIn(env, person);
    await page.goto(p.path);
    await write(page, editorOf(page), textOf("session", 30));
    await page.getByText("Your changes are kept in this tab.").waitFor();
    await page.reload();
    await page.getByText("Your changes are kept in this tab.").waitFor();
    await save(page, 2);
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByLabel("Type session to go on").fill("session");
    // Not before: the page may notice by itself, and ask above the dialog.
    const ending = async (route) => {
      await endSessions(person);
      await route.continue();
    };
    await page.route("**/activate", ending, { times: 1 });
    await press(page, "Activate version 2");
    const again = page.getByRole("dialog", { name: /sign in again/i });
    await again.waitFor();
    if ((await activations(env, p)) !== 1) wrong.push("it was sent without a session");
    await again.getByLabel("Password").fill(person.password);
    await again.getByRole("button", { name: /sign in/i }).click();
    await page.getByText("Version 2 judges every call from now on.").waitFor();
    if ((await activations(env, p)) !== 2) wrong.push("it was not sent once");
    wrong.push(...(await problemsOf(page)));
    await context.close();
    return wrong;
  });
}

// All sessions but the one that asks; the page's own is among them.
async function endSessions(person) {
  for (const s of (await person.call("GET", "/auth/sessions")).items ?? [])
    if (!s.current) await person.call("DELETE", `/auth/sessions/${s.id}`);
}

function testOthers({ test, env }) {
  test("policies: a plugin's proposal is read in sentences and confirmed by its hash, and no other than was read", async () => {
    const wrong = [];
    const p = await newPolicy(env, "plugin");
    await env.owner("POST", `/policies/${p.id}/deactivate`);
    const { apiKey } = await env.owner("POST", "/api-keys", {
      name: "plugin",
      organizationId: p.org,
      scopes: ["enforce", "profile.propose"],
    });
    const plugin = caller(env.server.url, { "x-api-key": apiKey });
    const propose = async (start) => {
      await plugin("PUT", "/policies/profiles/draft", profileOf("careful", start));
      return plugin("POST", "/policies/profiles/propose", { reason: "after Tuesday" });
    };
    const first = await propose("rm");
    const page = await env.page();
    await page.goto(env.within("/policies", p.org));
    await page.getByText("1 proposal of a plugin waits.").waitFor();
    await page.getByRole("link", { name: "Read them" }).click();
    // The list of policies has it too, as a draft.
    await page.getByRole("heading", { name: "Proposals of plugins" }).waitFor();
    await page.getByRole("link", { name: "careful" }).click();
    await page.getByText("When no rule matches: allow.").waitFor();
    await page.getByText(first.hash).waitFor();
    await page.getByRole("button", { name: "Confirm…" }).click();
    await dialogOf(page).getByLabel("Type confirm to go on").fill("confirm");
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-confirm");
    // The plugin proposes something else while somebody reads.
    const second = await propose("sudo");
    await press(page, "Confirm");
    await dialogOf(page).getByRole("alert").waitFor();
    const again = dialogOf(page).getByRole("button", { name: "Confirm" });
    if ((await again.getAttribute("aria-disabled")) !== "true") wrong.push("what was replaced can be confirmed");
    await env.shoot(page, "policies-replaced");
    await press(page, "Cancel");
    await page.getByText("Another proposal has replaced it.").waitFor();

    // Its link, as mails carry it.
    await page.goto(env.within(`/policies/proposals/${second.id}`, p.org));
    await page.getByText(/begins with "?sudo/).waitFor();
    await page.getByRole("button", { name: "Confirm…" }).click();
    await dialogOf(page).getByLabel("Type confirm to go on").fill("confirm");
    await press(page, "Confirm");
    await dialogOf(page).getByText("It is in force.").waitFor();
    await press(page, "Close");
    await page.getByText("in force now").waitFor();
    const active = await env.owner("GET", `/policies/profiles/active?${p.within}`);
    if (active.hash !== second.hash) wrong.push(`in force is ${active.hash}`);
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await page.close();
    return wrong;
  });

  test("policies: a draft from words, a suggestion from what was seen, bindings and findings", async () => {
    const wrong = [];
    const p = await newPolicy(env, "begun");
    const page = await env.page();
    await page.goto(env.within("/policies/new", p.org));
    await page.getByLabel("What may the agent do?").fill("Refunds customers with Stripe; large amounts wait.");
    await page.getByRole("button", { name: "Draft it" }).click();
    await page.getByText("Drafted. Read it before you activate it.").waitFor();
    await page.getByText("This is the template payments").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-drafted");
    await page.getByRole("link", { name: "Open the draft" }).click();
    await editorOf(page).getByText("payments").first().waitFor();
    await tab(page, "Tests");
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText(/All \d+ tests pass\./).waitFor();

    await page.goto(env.within("/policies/new?from=agent&agent=helper", p.org));
    await page.getByRole("button", { name: "Suggest it" }).click();
    await page.getByText("Suggested: 1 rule from 2 calls.").waitFor();
    await page.getByRole("list", { name: "The calls behind each rule" }).getByText("2 calls").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-suggested");

    await page.goto(`${p.path}&tab=bindings`);
    await page.getByText("It applies to everybody.").waitFor();
    await page.getByRole("button", { name: "Change…" }).click();
    await dialogOf(page).getByLabel("Only those named here").check();
    await dialogOf(page).getByLabel("viewer").check();
    await dialogOf(page).getByLabel("Keys and agents, one on each line").fill("helper");
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-bind");
    await dialogOf(page).getByLabel("Type begun to go on").fill("begun");
    await press(page, "Apply");
    await dialogOf(page).getByText("Done. It applies to those named now.").waitFor();
    await press(page, "Close");
    await page.getByText("It applies only to these:").waitFor();
    await page.getByText("helper").waitFor();

    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("begun"), default: "allow" });
    await page.goto(`${p.path}&tab=findings`);
    await page.getByText("Permits too much").first().waitFor();
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "policies-findings");
    await page.close();
    return wrong;
  });

  test("policies: a new one is written and saved, without a notice; its tests want one first", async () => {
    const org = await env.owner("POST", "/organization", { name: "Written" });
    const page = await env.page();
    const wrong = [];
    const notice = page.getByText("The address had values that are not known here");
    await page.goto(env.within("/policies/new?from=text", org.id));
    await write(page, editorOf(page), textOf("written", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    await page.getByRole("button", { name: "Save as a draft" }).click();
    await page.getByRole("heading", { name: "written", level: 1 }).waitFor();
    await settled(page);
    if (await notice.isVisible()) wrong.push("a notice says that something was left out of the address");

    await tab(page, "Tests");
    let asked = 0;
    page.on("request", (r) => new URL(r.url()).pathname === "/policies/test" && asked++);
    const runs = page.getByRole("button", { name: /^Run tests/ });
    await runs.waitFor();
    const why = await runs.getAttribute("title");
    if (why !== "Add a test first: simulate a call.") wrong.push(`Run tests is refused because ${why}`);
    await runs.click({ force: true });
    await env.shoot(page, "policies-no-tests");
    const simulate = page.getByRole("region", { name: "Simulate a call" });
    await simulate.getByLabel("Server").fill("shop");
    await simulate.getByLabel("Tool").fill("refund");
    await simulate.getByRole("button", { name: "Simulate" }).click();
    await simulate.getByRole("button", { name: "Add as a test" }).click();
    if (asked > 0) wrong.push("the server was asked to run no test");
    await runs.click();
    await page.getByText("The test passes.").waitFor();

    // What an address really has is still said.
    await page.goto(env.within("/policies?status=nonsense", org.id));
    await settled(page);
    await notice.first().waitFor();
    if ((await notice.count()) > 1) wrong.push("it is said twice");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("policies: a viewer sees and cannot; a member drafts and does not activate", async () => {
    const wrong = [];
    const p = await newPolicy(env, "seen");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("seen"), default: "ask" });
    const off = async (page, role, name) => {
      const button = page.getByRole("button", { name, exact: true });
      if ((await button.getAttribute("aria-disabled")) !== "true") wrong.push(`${role}: ${name} can be used`);
      await button.click({ force: true });
      if (await dialogOf(page).count()) wrong.push(`${role}: ${name} opens`);
    };
    for (const role of ["viewer", "member"]) {
      const person = await join(env, p.org, `policy-${role}@example.org`, role);
      const { context, page } = await signedIn(env, person);
      await page.goto(env.within("/policies", p.org));
      await page.getByRole("link", { name: "seen" }).click();
      await editorOf(page).getByText("seen").first().waitFor();
      for (const name of ["Activate v2…", "Deactivate…"]) await off(page, role, name);
      if (role === "viewer" && (await editorOf(page).getAttribute("contenteditable")) !== "false")
        wrong.push("a viewer can write");
      const has = { Tests: "Run tests", Replay: "Replay", Shadow: "Run version 2 as a shadow…", Bindings: "Change…" };
      for (const name of ["Tests", "Replay", "Shadow", "Versions", "Bindings", "Findings"]) {
        await tab(page, name);
        await settled(page);
        for (const text of await page.locator(".state[role=alert], .error-banner").allInnerTexts())
          wrong.push(`${role}, ${name}: ${text}`);
        if (has[name] && (role === "viewer" || name === "Shadow" || name === "Bindings"))
          await off(page, role, has[name]);
      }
      const answer = await person
        .call("POST", `/policies/${p.id}/activate`, { version: 2 })
        .then(() => "did it", String);
      if (!answer.includes("403")) wrong.push(`${role} activates: ${answer}`);
      await env.shoot(page, `policies-${role}`);
      wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
      await context.close();
    }
    return wrong;
  });
}
