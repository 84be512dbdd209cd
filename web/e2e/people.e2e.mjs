// What people do with their sessions, members and terminals, from beginning to end.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openContext, signInContext } from "./browser.mjs";
import { mailed } from "./mails.mjs";
import { signIn } from "./server.mjs";

const writ = fileURLToPath(new URL("../../bin/writ", import.meta.url));
const guest = { email: "bea@example.org", password: "a long enough password", name: "Bea" };

/** signInTerminal has a viewer approve a terminal: it gets their session, and the page says that it gets no key. */
async function signInTerminal(page, url) {
  const ask = async (client) => {
    const answer = await fetch(`${url}/auth/device/code`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ client }),
    });
    await page.goto(`/ui/device?user_code=${(await answer.json()).user_code}`);
  };
  await ask("another");
  await page.getByText("nothing, because it wants a key").waitFor();
  await page.getByText("Not me ends that").waitFor();
  await ask("writ");
  await page.getByText("no key, because a viewer has none").waitFor();
  await page.bringToFront();
  await page.locator('button.primary:not([aria-disabled="true"])', { hasText: "Approve" }).click();
  await page.getByText("Approved. Go back to the terminal.").waitFor();
}

export function tests({ test, env }) {
  const { url, first } = env.server;

  /** A browser of the owner's own, with a session that can be ended by the API. */
  async function ownBrowser() {
    const before = new Set((await env.owner("GET", "/auth/sessions")).items.map((s) => s.id));
    const context = await openContext(env.browser, url);
    await signInContext(context, url, first.email, first.password);
    // The API's own session may be new too: it signs in again from time to time.
    const session = (await env.owner("GET", "/auth/sessions")).items.find((s) => !s.current && !before.has(s.id));
    return { context, session: session.id };
  }
  const isLive = async (id) => (await env.owner("GET", "/auth/sessions")).items.some((s) => s.id === id);

  test("journey: invite a member with a role and see what they may not", async () => {
    const wrong = [];
    const page = await env.page();
    await page.goto(env.within("/settings/members", env.org));
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    await page.getByLabel("E-mail").fill(guest.email);
    await page.getByLabel("Role", { exact: true }).selectOption("viewer");
    await page.getByText("Reads traces, decisions and policies").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    await page.getByText("gets a mail with a link").waitFor();

    const link = await mailed(env.server, guest.email, /\/ui\/invites\/accept\?token=[\w-]+/);
    const context = await openContext(env.browser, url);
    const theirs = await context.newPage();
    await theirs.goto(link);
    await theirs.getByRole("link", { name: "Register" }).click();
    await theirs.getByLabel("Your name").fill(guest.name);
    await theirs.getByLabel("E-mail").fill(guest.email);
    await theirs.getByLabel("Password").fill(guest.password);
    await theirs.getByRole("button", { name: "Register" }).click();
    await theirs.getByRole("heading", { name: "Enter the code" }).waitFor();
    await theirs.getByLabel("Code").fill(await mailed(env.server, guest.email, /\b\d{6}\b/));
    await theirs.getByRole("button", { name: "Verify" }).click();
    await theirs.getByText(`You are signed in as ${guest.email}`).waitFor();
    await theirs.getByText(/You are invited to join .+ as viewer\. Reads traces/).waitFor();
    await env.shoot(theirs, "people-invitation");
    await theirs.getByRole("button", { name: "Accept" }).click();
    await theirs.getByRole("heading", { name: "Overview" }).waitFor();

    await theirs.goto(`/ui/settings/members?org=${env.org}`);
    const invite = theirs.getByRole("button", { name: "Invite", exact: true });
    await invite.waitFor();
    if ((await invite.getAttribute("aria-disabled")) !== "true") wrong.push("a viewer can invite");
    for (const name of ["API keys", "Webhooks", "Forwarding", "Identity provider"]) {
      await theirs.getByRole("navigation", { name: "Settings" }).getByRole("link", { name }).click();
      await theirs.getByRole("heading", { name, level: 1 }).waitFor();
      await theirs.getByText("Your role does not allow this.").waitFor();
    }
    await theirs.getByRole("link", { name: "Roles" }).click();
    await theirs.getByRole("listitem").filter({ hasText: "Viewer" }).getByText("Your role").waitFor();
    await signInTerminal(theirs, url);
    const api = await signIn(url, guest.email, guest.password);
    for (const [method, path, body] of [
      ["POST", "/api-keys", { name: "x", organizationId: env.org }],
      ["GET", `/organization/${env.org}/webhooks`],
      ["POST", `/organization/${env.org}/members/invite`, { email: "eve@example.org" }],
    ]) {
      const answer = await api(method, path, body).then(() => "did it", String);
      if (!answer.includes("403")) wrong.push(`a viewer, ${method} ${path}: ${answer}`);
    }
    wrong.push(...context.problems);
    await context.close();
    await page.close();
    return wrong;
  });

  test("journey: device login", async () => {
    const home = mkdtempSync(join(tmpdir(), "writ-e2e-home-"));
    const terminal = spawn(writ, ["login", "--no-browser", "--url", url], {
      env: { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home },
    });
    let printed = "";
    const ended = new Promise((done) => terminal.on("exit", done));
    const link = await new Promise((done) => {
      const read = (piece) => {
        printed += piece;
        const found = /http\S+user_code=\S+/.exec(printed);
        if (found) done(found[0]);
      };
      terminal.stdout.on("data", read);
      terminal.stderr.on("data", read);
    });
    const page = await env.page();
    await page.goto(link);
    for (const text of ["Whoever sent you a link", first.email, "ask people for approval", "Also let it act as me"])
      await page.getByText(text).first().waitFor();
    const wrong = [];
    const focused = await page.evaluate(() => document.activeElement?.textContent);
    if (focused !== "Not me") wrong.push(`the focus is on ${focused}`);
    const approve = page.getByRole("button", { name: "Approve" });
    await page.bringToFront();
    await page.locator('button.primary:not([aria-disabled="true"])', { hasText: "Approve" }).waitFor();
    await approve.click();
    await page.getByText("Approved. Go back to the terminal.").waitFor();
    const code = await ended;
    if (code !== 0) wrong.push(`writ login ended with ${code}: ${printed}`);
    if (!printed.includes(first.email)) wrong.push(`writ login does not say who signed in: ${printed}`);
    if (!readdirSync(join(home, "writ")).includes("credentials.json")) wrong.push("nothing was stored");
    // Looking at the page again does not replace the answer by an error.
    await page.evaluate(() => {
      dispatchEvent(new Event("focus"));
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.waitForTimeout(500);
    await page.getByText("Approved. Go back to the terminal.").waitFor();
    rmSync(home, { recursive: true });
    await page.close();
    return wrong;
  });

  test("journey: a session ends and nothing typed is lost", async () => {
    const { context, session } = await ownBrowser();
    const page = await context.newPage();
    await page.goto(env.within("/settings", env.emptyOrg));
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Typed before the end");
    // Not before: the page may notice by itself, and ask above the form.
    let ended = false;
    await page.route(`**/organization/${env.emptyOrg}`, async (route) => {
      if (!ended && route.request().method() === "PATCH") {
        ended = true;
        await env.owner("DELETE", `/auth/sessions/${session}`);
      }
      await route.continue();
    });
    await page.getByRole("button", { name: "Rename" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    await dialog.getByLabel("Password").fill(first.password);
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    const wrong = [...context.problems];
    if (!ended) wrong.push("the session did not end while the name was sent");
    if ((await name.inputValue()) !== "Typed before the end") wrong.push("what was typed is gone");
    await page.reload(); // what was said of the first name is gone with it, however long it would stand
    await name.fill("Empty <b>organization</b>");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("Saved.").waitFor();
    await context.close();
    return wrong;
  });

  test("journey: signing out while the server is away ends the session later", async () => {
    const { context, session } = await ownBrowser();
    const page = await context.newPage();
    await page.goto(env.within("/settings", env.org));
    await page.getByRole("heading", { name: "Organization", level: 1 }).waitFor();
    await context.route("**/auth/logout", (route) => route.abort());
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    await page.getByText("the server did not answer").waitFor();
    const wrong = [];
    if (!(await isLive(session))) wrong.push("the test did not keep the server away");
    await context.unroute("**/auth/logout");
    const told = page.waitForResponse("**/auth/logout");
    await page.reload();
    const answer = await told;
    await answer.finished();
    if (answer.request().headers().authorization) wrong.push("signing out needs an access token");
    await page.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    if (await isLive(session)) wrong.push("the session goes on");
    const left = (await context.cookies()).filter((c) => c.name.includes("session"));
    await context.close();
    return [...wrong, ...left.map((c) => `the cookie ${c.name} is still there`)];
  });

  test("journey: another person signs in in the other tab", async () => {
    const { context, session } = await ownBrowser();
    const [a, b] = [await context.newPage(), await context.newPage()];
    for (const page of [a, b]) {
      await page.goto(env.within("/me", env.org));
      await page.getByText(first.email).first().waitFor();
    }
    await env.owner("DELETE", `/auth/sessions/${session}`);
    await b.reload();
    await b.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    await b.getByLabel("E-mail").fill(guest.email);
    await b.getByLabel("Password").fill(guest.password);
    await b.getByRole("button", { name: "Sign in", exact: true }).click();
    await b.getByText(guest.email).first().waitFor();
    // The first tab shows the second person, and nothing of the first.
    await a.getByText(guest.email).first().waitFor();
    const wrong = [...context.problems];
    if (await a.getByText(first.email).count()) wrong.push("the first person is still shown");
    await context.close();
    return wrong;
  });
}
