// A person lets an OAuth client act as an agent, in a browser, from its request to its tokens.
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { axeProblems, openContext, signInContext } from "./browser.mjs";

const hostile = "<img src=x onerror=window.__xss=20>";

/** A client on this machine that waits for its answers. */
async function startClient() {
  const answers = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1");
    if (pathname === "/callback") answers.push(searchParams); // browsers also ask for an icon
    response.end("the client has it");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { answers, redirect: `http://127.0.0.1:${server.address().port}/callback`, stop: () => server.close() };
}

export function tests({ test, env }) {
  const { url, first } = env.server;
  const verifier = randomBytes(32).toString("base64url");

  async function ask(client, changes = {}) {
    const registered = await fetch(`${url}/oauth/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ client_name: hostile, redirect_uris: ["http://127.0.0.1/callback"] }),
    }).then((answer) => answer.json());
    const { issuer } = await fetch(`${url}/.well-known/oauth-authorization-server`).then((answer) => answer.json());
    const query = new URLSearchParams({
      response_type: "code",
      client_id: registered.client_id,
      redirect_uri: client.redirect,
      state: "a state",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      resource: `${issuer}/proxy/mcp`,
      ...changes,
    });
    return { id: registered.client_id, issuer, link: `${url}/oauth/authorize?${query}` };
  }

  test("journey: consent to an OAuth client", async () => {
    const wrong = [];
    await env.owner("POST", `/agent/register?organizationId=${env.org}`, {
      agentId: "assistant",
      name: "The assistant",
    });
    const client = await startClient();
    const asked = await ask(client);
    // Not signed in: the request survives the sign-in.
    const context = await openContext(env.browser, url);
    const page = await context.newPage();
    await page.goto(asked.link);
    await page.getByLabel("E-mail").fill(first.email);
    await page.getByLabel("Password").fill(first.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    for (const text of [
      "nobody has checked it",
      hostile,
      "127.0.0.1:",
      "/proxy/mcp",
      "It can never read this dashboard",
    ])
      await page.getByText(text).first().waitFor();
    const focused = await page.evaluate(() => document.activeElement?.textContent);
    if (focused !== "Do not allow") wrong.push(`the focus is on ${focused}`);
    if (await page.evaluate(() => window.__xss)) wrong.push("the client's name is markup");
    await page.getByLabel("Organization").selectOption(env.org);
    await page.getByLabel("Agent").selectOption("assistant");
    await page.getByText("No key is bound to this agent yet").waitFor();
    await env.shoot(page, "consent");
    await page.bringToFront();
    await page.locator('button.primary:not([aria-disabled="true"])', { hasText: "Allow" }).waitFor();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("the client has it").waitFor();
    const answer = client.answers[0];
    if (answer.get("iss") !== asked.issuer || answer.get("state") !== "a state") wrong.push(`answered ${answer}`);
    const tokens = await fetch(`${url}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: asked.id,
        code: answer.get("code"),
        code_verifier: verifier,
        redirect_uri: client.redirect,
        resource: `${asked.issuer}/proxy/mcp`,
      }),
    });
    if (tokens.status !== 200) wrong.push(`tokens: ${tokens.status} ${await tokens.text()}`);
    const { items } = await env.owner("GET", `/organization/${env.org}/consents`);
    if (items[0]?.agentId !== "assistant") wrong.push(`consents: ${JSON.stringify(items)}`);
    await page.goto(`/ui/settings/keys?org=${env.org}`);
    await page.getByText("OAuth consent").first().waitFor();
    await env.owner("DELETE", `/organization/${env.org}/consents/${items[0].id}`);
    const own = new URL(client.redirect).origin; // the browser is meant to go there
    wrong.push(...context.problems.filter((problem) => !problem.includes(own)));
    await context.close();
    client.stop();
    return wrong;
  });

  test("journey: who owns no agent registers one on the way to the consent", async () => {
    const wrong = [];
    const org = await env.owner("POST", "/organization", { name: "Without an agent" });
    const client = await startClient();
    const context = await openContext(env.browser, url);
    await signInContext(context, url, first.email, first.password);
    const page = await context.newPage();
    await page.goto((await ask(client)).link);
    await page.getByLabel("Organization").selectOption(org.id);
    await page.getByRole("alert").getByText("You own no active agent here.").waitFor();
    await env.shoot(page, "consent-no-agent");
    const [agents] = await Promise.all([
      context.waitForEvent("page"),
      page.getByRole("link", { name: "Open Agents in another tab" }).click(),
    ]);
    await agents.getByText("No agent yet.").waitFor();
    await agents.getByRole("button", { name: "Register an agent…" }).click();
    const dialog = agents.getByRole("dialog");
    await dialog.getByLabel("Id", { exact: true }).fill("desk");
    await dialog.getByLabel("Name").fill("The desk <b>");
    wrong.push(...(await axeProblems(agents)));
    await env.shoot(agents, "agents-register");
    await dialog.getByRole("button", { name: "Register" }).click();
    await dialog.getByText("is registered.").waitFor();
    await agents.close();
    await page.reload();
    await page.getByLabel("Organization").selectOption(org.id);
    await page.getByLabel("Agent").selectOption("desk");
    await page.bringToFront();
    await page.locator('button.primary:not([aria-disabled="true"])', { hasText: "Allow" }).waitFor();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("the client has it").waitFor();
    const { items } = await env.owner("GET", `/organization/${org.id}/consents`);
    if (items[0]?.agentId !== "desk") wrong.push(`consents: ${JSON.stringify(items)}`);
    const own = new URL(client.redirect).origin; // the browser is meant to go there
    wrong.push(...context.problems.filter((problem) => !problem.includes(own)));
    await context.close();
    client.stop();
    return wrong;
  });

  test("journey: refuse an OAuth client, and one that asks wrongly", async () => {
    const wrong = [];
    const client = await startClient();
    const context = await openContext(env.browser, url);
    await signInContext(context, url, first.email, first.password);
    const page = await context.newPage();
    await page.goto((await ask(client)).link);
    await page.getByRole("button", { name: "Do not allow" }).click();
    await page.getByText("the client has it").waitFor();
    await page.goto((await ask(client, { code_challenge: "" })).link);
    await page.getByText("code_challenge").waitFor();
    await page.getByRole("button", { name: "Tell the client" }).click();
    await page.getByText("the client has it").waitFor();
    const errors = client.answers.map((answer) => answer.get("error"));
    if (String(errors) !== "access_denied,invalid_request") wrong.push(`the client is told ${errors}`);
    await page.goto((await ask(client, { redirect_uri: "https://evil.example.org/" })).link);
    await page.getByText("is not one that this client registered").first().waitFor();
    if (client.answers.length !== 2) wrong.push("a client with a foreign address was told something");
    await context.close();
    client.stop();
    return wrong;
  });
}
