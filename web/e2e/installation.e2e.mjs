// What operators do for a whole installation, and what people without an account do there: requests for access, usage.
import { readFileSync } from "node:fs";
import { axeProblems, openContext, problemsOf, settled, signInContext } from "./browser.mjs";
import { mailed } from "./mails.mjs";
import { caller, elsewhere, signIn, startServer } from "./server.mjs";

export function tests({ test, env }) {
  test("journey: ask for access where sign-up is closed; operators approve, invite, reject and send again", async () => {
    const server = await startServer({ WRIT_SIGNUP: "closed" });
    try {
      server.makeOperator(server.first.email);
      return await accessJourney(env, server);
    } finally {
      await server.stop();
    }
  });

  test("installation: an operator who is in no organization", async () => {
    const server = await startServer();
    try {
      server.makeOperator(server.first.email);
      const owner = await signIn(server.url, server.first.email, server.first.password);
      const { organizations } = await owner("GET", "/auth/me");
      for (const { id } of organizations) await owner("DELETE", `/organization/${id}`);
      return await aloneJourney(env, server);
    } finally {
      await server.stop();
    }
  });

  test("installation: usage by month, and as a file", async () => {
    const page = await env.page();
    const wrong = [];
    await page.goto(env.within("/", env.org));
    await settled(page);
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Installation" }).click();
    await page.getByRole("heading", { name: "Installation usage", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Month" }).click();
    await page.waitForURL(/by=month/);
    await settled(page);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const [head] = readFileSync(await file.path(), "utf8").split("\n");
    if (!/decisions/i.test(head)) wrong.push(`the file begins with ${head}`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("installation: who is no operator sees none of it", async () => {
    const wrong = [];
    const context = await openContext(env.browser, env.server.url);
    await signInContext(context, env.server.url, env.server.first.email, env.server.first.password);
    const page = await context.newPage();
    // The same person as the server would describe them without the role.
    await page.route("**/auth/me", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), operator: false } });
    });
    for (const path of [
      "/installation",
      "/installation/usage",
      "/installation/access",
      "/installation/blog",
      "/installation/blog/new",
      "/installation/operators",
    ]) {
      const asked = [];
      page.on("request", (r) => /\/(admin|access-requests)\b/.test(new URL(r.url()).pathname) && asked.push(r.url()));
      await page.goto(env.within(path, env.org));
      await page.getByText("Only people who run this installation see this.").waitFor();
      if (asked.length > 0) wrong.push(`${path} asked ${asked}`);
      wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    }
    await context.close();
    return wrong;
  });
}

/** aloneJourney: without an organization, the screens of the installation work, and the way into one is shown. */
async function aloneJourney(env, server) {
  const wrong = [];
  const context = await openContext(env.browser, server.url);
  await signInContext(context, server.url, server.first.email, server.first.password);
  const page = await context.newPage();
  await page.goto("/ui/");
  await page.getByText("You are in no organization yet.").waitFor();
  wrong.push(...(await axeProblems(page)));
  await env.shoot(page, "installation-no-organization");
  await page.getByRole("link", { name: "To the installation" }).click();
  await page.getByRole("heading", { name: "Installation usage", level: 1 }).waitFor();
  await settled(page);
  wrong.push(...(await axeProblems(page)));
  await env.shoot(page, "installation-usage-alone");
  for (const [tab, seen] of [
    ["Access", "No request waits."],
    ["Blog", "No post yet."],
    ["Operators", server.first.email],
  ]) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    await page.getByText(seen).first().waitFor();
    wrong.push(...(await axeProblems(page)));
  }
  await env.shoot(page, "installation-operators-alone");
  await page.reload();
  await page.getByText("(you)").waitFor();
  await page.getByRole("link", { name: "Make an organization, or join one" }).click();
  await page.getByLabel("Name of the organization").fill("New");
  await page.getByRole("button", { name: "Make organization" }).click();
  await page.getByRole("button", { name: "Account" }).waitFor();
  wrong.push(...(await problemsOf(page)));
  await context.close();
  return wrong;
}

async function accessJourney(env, server) {
  const wrong = [];
  const operators = await openContext(env.browser, server.url);
  await signInContext(operators, server.url, server.first.email, server.first.password);
  const page = await operators.newPage();
  await page.goto("/ui/installation/access");
  await page.getByText("No request waits.").waitFor();
  wrong.push(...(await axeProblems(page)));
  await env.shoot(page, "installation-access-empty");

  wrong.push(...(await ask(env, server)));
  for (const name of ["bea", "cai"])
    await caller(server.url, elsewhere())("POST", "/access-requests", { email: `${name}@example.org` });
  await page.reload();
  const row = (email) => page.getByRole("listitem").filter({ hasText: email });

  await row("ann@example.org").getByText("Three agents").waitFor();
  await row("ann@example.org").getByRole("button", { name: "Approve…" }).click();
  await page.getByRole("dialog").getByText("It works for 7 days").waitFor();
  wrong.push(...(await axeProblems(page)));
  await env.shoot(page, "installation-access-approve");
  await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await page.getByText("A link to register is on its way to ann@example.org.").waitFor();
  const first = await mailed(server, "ann@example.org", /register\?token=(acc_[\w-]+)/);

  await row("bea@example.org").getByRole("button", { name: "Approve…" }).click();
  const gets = page.getByLabel("The person gets");
  await gets.selectOption({ label: await gets.locator("option").nth(1).textContent() });
  await page.getByLabel("Role").selectOption("viewer");
  await env.shoot(page, "installation-access-invite");
  await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await page.getByText("An invitation is on its way to bea@example.org.").waitFor();
  await mailed(server, "bea@example.org", /invites\/accept\?token=([\w-]+)/);

  await row("cai@example.org").getByRole("button", { name: "Reject…" }).click();
  await page.getByLabel("Reason").fill("We take on teams from January.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("The request of cai@example.org is rejected.").waitFor();
  await page.getByText("No request waits.").waitFor();
  await mailed(server, "cai@example.org", /We take on teams/);

  await page.getByLabel("Status").selectOption("all");
  await page.waitForURL(/status=all/);
  await row("bea@example.org").getByText("as viewer").waitFor();
  await row("cai@example.org").getByText("We take on teams from January.").waitFor();
  await env.shoot(page, "installation-access-answered");
  await row("ann@example.org").getByRole("button", { name: "Send another link…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Send the link" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const second = await mailed(server, "ann@example.org", /register\?token=(acc_[\w-]+)/, first);
  wrong.push(...(await problemsOf(page)));
  await operators.close();
  wrong.push(...(await registers(env, server, second)));
  return wrong;
}

/** ask sends a request as somebody without an account, and then more than are taken in a minute. */
async function ask(env, server) {
  const context = await openContext(env.browser, server.url);
  const page = await context.newPage();
  await page.goto("/ui/sign-in");
  await page.getByRole("link", { name: "Ask for access" }).click();
  await page.getByLabel("Your name").waitFor(); // the page before has an e-mail address too
  await page.getByLabel("E-mail").fill("ann@example.org");
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("What you want it for").fill("Three agents, with approvals for payments.");
  await page.getByLabel("What you want it for").press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("Your request is received. The answer goes to ann@example.org").waitFor();
  const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
  await env.shoot(page, "request-access-received");
  const more = () => context.request.post("/access-requests", { data: { email: "ann@example.org" } });
  const paused = page.getByText("You can send yours in a minute");
  // A new minute may begin in between: then it is taken, and asked again.
  let seen = false;
  for (let tries = 0; tries < 3 && !seen; tries++) {
    for (let n = 0; n < 10 && (await more()).status() !== 429; n++);
    await page.goto("/ui/request-access");
    await page.getByLabel("E-mail").fill("ann@example.org");
    await page.getByRole("button", { name: "Send" }).click();
    await paused.or(page.getByText("Your request is received.")).waitFor();
    seen = await paused.isVisible();
  }
  if (!seen) wrong.push("a request too many is not told to wait");
  wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
  await env.shoot(page, "request-access-throttled");
  if ((await page.getByLabel("E-mail").inputValue()) !== "ann@example.org") wrong.push("what was typed is gone");
  await context.close();
  return wrong;
}

/** registers opens the link of an approval: it lets the address in where sign-up is closed. */
async function registers(env, server, token) {
  const context = await openContext(env.browser, server.url, { extraHTTPHeaders: elsewhere() });
  const page = await context.newPage();
  await page.goto(`/ui/register?token=${token}`);
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("E-mail").fill("ann@example.org");
  await page.getByLabel("Password").fill("a long enough password");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Enter the code" }).waitFor();
  const wrong = await problemsOf(page);
  await context.close();
  return wrong;
}
