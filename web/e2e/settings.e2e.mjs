// Settings that reach other servers: webhooks with their deliveries, identity providers.
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { axeProblems, openContext, problemsOf, settled } from "./browser.mjs";
import { caller } from "./server.mjs";
import { evil } from "./xss.mjs";

/** startReceiver takes what webhooks send; with a status other than 200 it refuses, in hostile words. */
async function startReceiver() {
  const received = [];
  const state = { status: 200 };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    received.push({ headers: request.headers, body });
    response.writeHead(state.status, { "Content-Type": "text/plain" }).end(evil(0));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/hook`;
  return { url, received, state, stop: () => server.close() };
}

export function tests({ test, env }) {
  test("settings: a webhook is made, changed and tested, and a delivery that failed is sent again", async () => {
    const receiver = await startReceiver();
    const page = await env.page();
    const wrong = [];
    await page.goto(env.within("/settings/webhooks", env.org));
    await page.getByRole("button", { name: "Add a webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Before the change");
    await dialog.getByLabel("Address").fill(receiver.url);
    wrong.push(...(await axeProblems(page)));
    await dialog.getByRole("button", { name: "Add a webhook" }).click();
    await dialog.getByText("whsec_").waitFor();
    await env.shoot(page, "settings-webhook-secret");
    await dialog.getByRole("button", { name: "Copy" }).click();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Before the change" }).click();
    await page.getByRole("heading", { name: "Before the change", level: 1 }).waitFor();

    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await dialog.getByLabel("Name").fill(evil(1).slice(0, 100));
    await dialog.getByLabel("Cancelled").check();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "settings-webhook-edit");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: /evil1/, level: 1 }).waitFor();
    await page
      .getByText(/Cancelled/)
      .first()
      .waitFor();

    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("the answer was 200").waitFor();
    const table = page.getByRole("table", { name: "Deliveries" });
    await table.getByText("Delivered").first().waitFor();

    if (await table.getByRole("button", { name: "Send again" }).count()) wrong.push("a test can be sent again");
    const ask = () =>
      caller(env.server.url, { "x-api-key": env.server.first.apiKey })("POST", "/delegation/request", {
        tool: "send_money",
        action: "execute",
        domain: "bank",
        arguments: { note: evil(4), n: receiver.received.length },
        requesterEmail: "ada@example.org",
        reason: evil(4),
      });
    await ask();
    await waitUntil(() => receiver.received.length === 2);
    await page.reload();
    await table.getByRole("button", { name: "Send again" }).first().click();
    await page.getByText("It is sent again.").waitFor();
    await waitUntil(() => receiver.received.length === 3);
    receiver.state.status = 410;
    await ask();
    await waitUntil(() => receiver.received.length === 4);
    await page.reload();
    await table.getByText("410").first().waitFor();
    await env.shoot(page, "settings-webhook-deliveries");
    const last = receiver.received.at(-1);
    if (!last.headers["webhook-signature"] && !Object.keys(last.headers).some((n) => n.includes("signature")))
      wrong.push(`a delivery without a signature: ${Object.keys(last.headers)}`);
    if (receiver.received.some(({ body }) => body.includes("whsec_"))) wrong.push("a secret was sent");
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await page.setViewportSize({ width: 320, height: 800 });
    await settled(page);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    receiver.stop();
    return wrong;
  });

  test("settings: the organization says who may act and who may stop agents", async () => {
    const wrong = [];
    const org = await env.owner("POST", "/organization", { name: "Rules of agents" });
    const path = `/organization/${org.id}/agents/settings`;
    await env.owner("PUT", path, { unregisteredMayAct: true, leaseSeconds: 60, trips: { callsPerMinute: 9 } });
    const page = await env.page();
    await page.goto(env.within("/settings/enforcement", org.id));
    await page.getByLabel("Approvers may use the kill switch").click();
    await page.getByText("Saved.").first().waitFor();
    await page.getByLabel("Agents that nobody registered may act").click();
    for (let n = 0; n < 50 && (await env.owner("GET", path)).unregisteredMayAct; n++) await page.waitForTimeout(100);
    const now = await env.owner("GET", path);
    const said = JSON.stringify([
      now.unregisteredMayAct,
      now.approversMayKill,
      now.leaseSeconds,
      now.trips.callsPerMinute,
    ]);
    if (said !== "[false,true,60,9]") wrong.push(`the server has ${said}`);
    await page.reload();
    await settled(page);
    if (!(await page.getByLabel("Approvers may use the kill switch").isChecked())) wrong.push("it is forgotten");
    await env.shoot(page, "settings-agent-rules");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("settings: the organization says at which numbers agents stop, and how long a lease is", async () => {
    const wrong = [];
    const org = await env.owner("POST", "/organization", { name: "Numbers of agents" });
    const path = `/organization/${org.id}/agents/settings`;
    await env.owner("PUT", path, {
      unregisteredMayAct: false,
      approversMayKill: true,
      trips: { callsPerMinute: 9, findingsPerDay: { sequence_gap: 4 } },
    });
    const page = await env.page();
    await page.goto(env.within("/settings/enforcement", org.id));
    const form = page.locator("section", { has: page.getByRole("heading", { name: "Trips and leases" }) });
    await form.getByLabel("Calls in a minute").fill("");
    await form.getByLabel("Cost in a day (US dollars)").fill("12.5");
    await form.getByLabel("Denials in a minute").fill("30");
    await form.getByLabel("A lease lives at most (seconds)").fill("120");
    await form.getByText("Findings in 24 hours, by kind").click();
    if ((await form.getByLabel("Missing reports").inputValue()) !== "4") wrong.push("a stored number is not shown");
    await form.getByLabel("Not allowed").fill("2");
    await env.shoot(page, "settings-agent-limits");
    wrong.push(...(await axeProblems(page)));
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").first().waitFor();
    const { approversMayKill, unregisteredMayAct, leaseSeconds, trips } = await env.owner("GET", path);
    const said = [unregisteredMayAct, approversMayKill, leaseSeconds, trips];
    const findingsPerDay = { execution_without_decision: 2, sequence_gap: 4 };
    const meant = [false, true, 120, { costPerDay: 12.5, denialsPerMinute: 30, findingsPerDay }];
    if (!isDeepStrictEqual(said, meant)) wrong.push(`the server has ${JSON.stringify(said)}`);
    await page.reload();
    await settled(page);
    if ((await form.getByLabel("Denials in a minute").inputValue()) !== "30") wrong.push("it is forgotten");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("settings: an identity provider is set up, tested, and shows what is not proven", async () => {
    const page = await env.page();
    const wrong = [];
    await page.goto(env.within("/settings/identity", env.org));
    await page.getByRole("button", { name: "Set up a provider" }).click();
    await page.getByLabel("Issuer").fill(env.provider.issuer);
    await page.getByLabel("Client id").fill(env.provider.client.id);
    await page.getByLabel("Client secret").fill(env.provider.client.secret);
    await page.getByLabel("Domains").fill("example.org\nexample.com");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByText("_writ").first().waitFor();
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("The provider answered").waitFor();
    wrong.push(...(await axeProblems(page)));
    await page.reload();
    await settled(page);
    for (const [name, width, colorScheme] of [
      ["light", 1280, "light"],
      ["dark", 1280, "dark"],
      ["narrow", 320, "light"],
    ]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
      await env.shoot(page, `settings-identity-set-${name}`);
    }
    if ((await page.getByLabel("Client secret").inputValue()) !== "") wrong.push("the secret is shown");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No identity provider yet.").waitFor();
    await page.close();
    return wrong;
  });

  test("settings: what is removed in the visit that set it up leaves no form", async () => {
    const { id } = await env.owner("POST", "/organization", { name: "Short visit" });
    const page = await env.page();
    const remove = async (none) => {
      await page.getByText("Saved.").waitFor();
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByText(none).waitFor();
    };
    await page.goto(env.within("/settings/forwarding", id));
    await page.getByRole("button", { name: "Set up forwarding" }).click();
    await page.getByLabel("Collector").fill("https://collector.example.org");
    await page.getByRole("button", { name: "Save" }).click();
    await remove("Nothing is forwarded.");
    await page.goto(env.within("/settings/identity", id));
    await page.getByRole("button", { name: "Set up a provider" }).click();
    await page.getByLabel("Issuer").fill(env.provider.issuer);
    await page.getByLabel("Client id").fill(env.provider.client.id);
    await page.getByLabel("Client secret").fill(env.provider.client.secret);
    await page.getByLabel("Domains").fill("example.net");
    await page.getByRole("button", { name: "Save" }).click();
    await remove("No identity provider yet.");
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });

  test("journey: sign in with Google, and arrive where the link led", async () => {
    const context = await openContext(env.browser, env.server.url);
    const page = await context.newPage();
    await page.goto("/ui/settings/roles");
    await page.getByRole("link", { name: /Google/ }).click();
    await page.waitForURL(/\/ui\/settings\/roles/);
    await page.getByText("You are in no organization yet.").waitFor();
    await page.getByText("cleo@example.org").waitFor();
    await page.getByLabel("Name of the organization").fill("Cleo's");
    await page.getByRole("button", { name: "Make organization" }).click();
    await page.getByRole("heading", { name: "Roles", level: 1 }).waitFor();
    const wrong = (await problemsOf(page)).filter((text) => text !== `a request to ${env.provider.issuer}`);
    if (/code=/.test(page.url())) wrong.push(`the code is still in the address: ${page.url()}`);
    await context.close();
    return wrong;
  });
}

async function waitUntil(holds, within = 15_000) {
  const end = Date.now() + within;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited ${within} ms for ${holds}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
