// OAuth both ways in a browser: the official SDK's client gets in, and a person connects to a server of its own OAuth.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openContext, signInContext } from "./browser.mjs";
import { startMcp, tool } from "./mcp.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** allowing makes an organization whose policy allows everything. */
async function allowing(env, name) {
  const org = await env.owner("POST", "/organization", { name });
  const within = `organizationId=${org.id}`;
  const policy = await env.owner("POST", `/policies?${within}`, {
    version: "v1",
    name: "everything",
    default: "allow",
    rules: [],
  });
  await env.owner("POST", `/policies/${policy.policyId ?? policy.id}/activate?${within}`, {});
  return { id: org.id, within };
}

/** signedIn is a page of the owner in a browser of its own. */
async function signedIn(env) {
  const context = await openContext(env.browser, env.server.url);
  await signInContext(context, env.server.url, env.server.first.email, env.server.first.password);
  return { context, page: await context.newPage() };
}

/** authority makes an MCP server want tokens, and gives them to whoever comes with a code; people consent at once. */
function authority(state) {
  const json = (response, status, document) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(document));
    return true;
  };
  return (request, response, body) => {
    const at = `http://${request.headers.host}`;
    const { pathname, searchParams } = new URL(request.url, at);
    const form = new URLSearchParams(body);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json(response, 200, { resource: `${at}/mcp`, authorization_servers: [at] });
      case "/.well-known/oauth-authorization-server":
        return json(response, 200, {
          issuer: at,
          authorization_endpoint: `${at}/authorize`,
          token_endpoint: `${at}/token`,
          registration_endpoint: `${at}/register`,
          code_challenge_methods_supported: ["S256"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/register":
        return json(response, 201, { client_id: "writ", ...JSON.parse(body) });
      case "/authorize": {
        state.asked = searchParams;
        const back = new URL(searchParams.get("redirect_uri"));
        back.search = new URLSearchParams({ code: "a code", state: searchParams.get("state"), iss: at });
        response.writeHead(302, { Location: back.href }).end();
        return true;
      }
      case "/token":
        state.exchanged = form;
        return json(response, 200, { access_token: "the-persons-token", token_type: "Bearer" });
    }
    if (request.headers.authorization === "Bearer the-persons-token") return false;
    response.writeHead(401, { "WWW-Authenticate": "Bearer" }).end();
    return true;
  };
}

export function tests({ test, env }) {
  test("journey: the SDK's client from a 401 over the consent to a call", async () => {
    const wrong = [];
    const mcp = await startMcp([tool("add", "Adds two numbers.")]);
    const org = await allowing(env, "Clients");
    await env.owner("POST", `/mcp/register?${org.within}`, { name: "math", url: mcp.url });
    await env.owner("POST", `/agent/register?${org.within}`, { agentId: "desk", name: "The desk" });
    const folder = mkdtempSync(join(tmpdir(), "writ-sdk-"));
    const program = join(folder, "sdkclient");
    execFileSync("go", ["build", "-o", program, "./web/e2e/sdkclient"], { cwd: root });
    const { issuer } = await fetch(`${env.server.url}/.well-known/oauth-authorization-server`).then((a) => a.json());
    const client = spawn(program, [`${issuer}/proxy/mcp/math`, "add"], { stdio: ["ignore", "pipe", "inherit"] });
    const { context, page } = await signedIn(env);
    let result;
    for await (const line of createInterface({ input: client.stdout })) {
      const [word, ...rest] = line.split(" ");
      if (word === "result") result = rest.join(" ");
      if (word !== "open") continue;
      await page.goto(rest.join(" ").replace(issuer, env.server.url)); // where the browser is signed in
      await page.getByText("The SDK's client").first().waitFor();
      await page.getByLabel("Organization").selectOption(org.id);
      await page.getByLabel("Agent").selectOption("desk");
      await page.bringToFront();
      await page.locator('button.primary:not([aria-disabled="true"])', { hasText: "Allow" }).waitFor();
      await page.getByRole("button", { name: "Allow", exact: true }).click();
      await page.getByText("the client has it").waitFor();
    }
    if (result !== "add ran") wrong.push(`the tool says ${result}`);
    const { items } = await env.owner("GET", `/organization/${org.id}/consents`);
    if (items[0]?.agentId !== "desk" || items[0]?.clientName !== "The SDK's client")
      wrong.push(`consents: ${JSON.stringify(items)}`);
    await context.close();
    rmSync(folder, { recursive: true, force: true });
    mcp.stop();
    return wrong;
  });

  test("journey: connect to an MCP server with an OAuth of its own, and disconnect", async () => {
    const wrong = [];
    const state = {};
    const mcp = await startMcp([tool("add", "Adds two numbers.")], "Be careful.", authority(state));
    const org = await allowing(env, "Connections");
    const made = await env.owner("POST", `/mcp/register?${org.within}`, {
      name: "far",
      url: mcp.url,
      auth: { type: "oauth" },
    });
    if (made.toolCount !== 0) wrong.push("tools are listed without a consent");
    const { context, page } = await signedIn(env);
    await page.goto(env.within(`/servers/${made.mcpId}`, org.id));
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByText("Connected to far.").waitFor();
    if (state.asked?.get("resource") !== mcp.url || state.asked?.get("code_challenge_method") !== "S256")
      wrong.push(`asked ${state.asked}`);
    if (!state.exchanged?.get("code_verifier")) wrong.push(`exchanged ${state.exchanged}`);
    await page.getByRole("link", { name: "To the server" }).click();
    await page.getByText("You are connected since").waitFor();
    await env.shoot(page, "connection");
    const listed = await env.owner("GET", `/mcp/servers/${made.mcpId}?${org.within}`);
    if (listed.toolCount !== 1) wrong.push(`${listed.toolCount} tools are listed with the consent`);
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("button", { name: "Connect", exact: true }).waitFor();
    const { items } = await env.owner("GET", `/organization/${org.id}/connections`);
    if (items.length !== 0) wrong.push(`connections: ${JSON.stringify(items)}`);
    // An answer that nobody has asked for.
    await page.goto("/ui/connected?state=another&code=x");
    await page.getByText("you have begun").first().waitFor();
    await context.close();
    mcp.stop();
    return wrong;
  });
}
