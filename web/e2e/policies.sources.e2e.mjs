// Policies: where they come from, and who may do what.
import { join } from "./agents.seed.mjs";
import { axeProblems, problemsOf, settled } from "./browser.mjs";
import { dialogOf, documentOf, editorOf, newPolicy, press, signedIn, tab, textOf, write } from "./policies.acts.mjs";
import { profileOf } from "./policies.seed.mjs";
import { caller } from "./server.mjs";

export function tests({ test, env }) {
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
