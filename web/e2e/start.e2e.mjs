// From nothing to the first decision.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { problemsOf, settled } from "./browser.mjs";
import { signIn, startServer } from "./server.mjs";

const run = promisify(execFile);

/** begin opens the first steps in an organization of its own, makes a key, and chooses a way. */
async function begin(env, tab) {
  const org = await env.owner("POST", "/organization", { name: `First steps with ${tab}` });
  const page = await env.page();
  await page.goto(env.within("/start", org.id));
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("code", { hasText: "ak_" }).first().waitFor();
  await page.getByRole("tab", { name: tab, exact: true }).click();
  const command = (await page.locator("pre.command").textContent()) ?? "";
  return { page, command, org: org.id };
}

export function tests({ test, env }) {
  for (const tab of ["curl", "Python", "TypeScript"]) {
    test(`journey: ${tab} to the first decision`, async () => {
      const { page, command } = await begin(env, tab);
      await run("bash", ["-c", command]);
      const badge = page.getByRole("link", { name: /Deny, open entry/ });
      await badge.waitFor({ timeout: 15_000 });
      const wrong = [];
      if (!(await page.getByText("Nothing runs until a policy is active.").isVisible()))
        wrong.push("no word of policies");
      const next = await page.getByRole("link", { name: "Write the first policy" }).getAttribute("href");
      if (!next?.startsWith("/ui/policies/new")) wrong.push(`the next step leads to ${next}`);
      await badge.click();
      await settled(page);
      if (!page.url().includes("/ui/audit/")) wrong.push(`the badge led to ${page.url()}`);
      wrong.push(...(await problemsOf(page)));
      await page.close();
      return wrong;
    });
  }

  test("journey: a rule about web.fetch decides the very commands", async () => {
    const { page, org } = await begin(env, "curl");
    const rules = [{ id: "fetch", effect: "allow", tools: ["web.fetch"] }];
    const policy = { version: "v1", name: "fetch", default: "deny", rules };
    const made = await env.owner("POST", `/policies?organizationId=${org}`, policy);
    await env.owner("POST", `/policies/${made.id}/activate`, { version: 1 });
    const wrong = [];
    for (const tab of ["curl", "Python", "TypeScript"]) {
      await page.getByRole("tab", { name: tab, exact: true }).click();
      const { stdout } = await run("bash", ["-c", (await page.locator("pre.command").textContent()) ?? ""]);
      if (!/"?action"?: ?['"]allow['"]/.test(stdout)) wrong.push(`${tab}: ${stdout}`);
    }
    await page.getByRole("link", { name: /Allow, open entry/ }).waitFor({ timeout: 15_000 });
    await page.close();
    return wrong;
  });

  test("journey: OpenTelemetry to the first trace", async () => {
    const { page, command } = await begin(env, "OpenTelemetry");
    await run("bash", ["-c", command]);
    await page.getByRole("link", { name: "first trace" }).waitFor({ timeout: 15_000 });
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });

  test("journey: a key that was not copied is not lost without a word", async () => {
    const { page } = await begin(env, "curl");
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByText("You have not copied the key.").waitFor();
    await page.getByRole("button", { name: "Stay" }).click();
    const stayed = await page.locator("code", { hasText: "ak_" }).first().isVisible();
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.close();
    return stayed ? [] : ["the key was lost"];
  });

  test("journey: within two minutes from the start of the server", async () => {
    const began = Date.now();
    const server = await startServer();
    try {
      const owner = await signIn(server.url, server.first.email, server.first.password);
      const org = await owner("POST", "/organization", { name: "New" });
      const { page, command } = await begin(
        { ...env, owner, page: () => freshPage(env, server), within: env.within },
        "curl",
      );
      await run("bash", ["-c", command]);
      await page.getByRole("link", { name: /Deny, open entry/ }).waitFor({ timeout: 15_000 });
      await page.context().close();
      const seconds = (Date.now() - began) / 1000;
      return seconds < 120 && org.id ? [] : [`it took ${seconds} s`];
    } finally {
      await server.stop();
    }
  });
}

/** freshPage signs in as a person does, by the page itself. */
async function freshPage(env, server) {
  const { openContext } = await import("./browser.mjs");
  const context = await openContext(env.browser, server.url);
  const page = await context.newPage();
  await page.goto("/ui/");
  await page.getByLabel("E-mail").fill(server.first.email);
  await page.getByLabel("Password").fill(server.first.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  return page;
}
