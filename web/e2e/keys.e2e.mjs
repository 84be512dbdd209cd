// Terminals and their keys: whose they are, what ends them, and codes that were mistyped.
import { problemsOf, settled } from "./browser.mjs";

const call = (env, path, body) =>
  fetch(`${env.server.url}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }).then((answer) => answer.json());

export function tests({ test, env }) {
  test("keys: a terminal is approved after a mistyped code, and its session ends with its key", async () => {
    const code = await call(env, "/auth/device/code", { client: "writ" });
    const page = await env.page();
    await page.goto("/ui/device?user_code=BCDF-GHJK&org=nosuch");
    await page.getByText("is wrong, answered already or expired").waitFor();
    await page.getByText("asks for the organization nosuch").waitFor();
    await page.getByLabel("Code of the terminal").fill(code.user_code);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByLabel("Organization of the key").selectOption(env.org);
    await page.waitForTimeout(1500); // Approve waits until it can have been read
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").filter({ hasText: "Approved." }).waitFor();
    const wrong = (await problemsOf(page)).filter((problem) => !problem.includes("400"));
    const got = await call(env, "/auth/device/token", { deviceCode: code.device_code, client: "writ" });
    const { items } = await env.owner("GET", "/auth/sessions");
    const key = items.find((s) => s.keys)?.keys[0];

    await page.goto(env.within("/me", env.org));
    const row = page.locator("section", { hasText: "Where you are signed in" }).locator("li", { hasText: "node" });
    await row.first().getByRole("button", { name: "End" }).click();
    await page.getByRole("dialog").getByText("The keys of this terminal are revoked too").waitFor();
    await page.getByRole("dialog").getByText(key.name).waitFor();
    await env.shoot(page, "end-session");
    await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await page.getByText("The session ended.").waitFor();
    const used = await fetch(`${env.server.url}/api-keys/current`, { headers: { "X-API-Key": got.api_key } });
    if (used.status !== 401) wrong.push(`the key of an ended session is answered ${used.status}`);

    await page.goto(env.within(`/audit?action=key.revoked`, env.org));
    await settled(page);
    await page.locator(`a[href*="key=${key.id}"]`).first().click();
    await page.getByText("Only one key is shown.").waitFor();
    await page.getByText("Revoked", { exact: true }).waitFor();
    await env.shoot(page, "one-key");
    wrong.push(...(await problemsOf(page)).filter((problem) => !problem.includes("400")));
    await page.getByRole("link", { name: "Show all" }).click();
    await page.getByText("Only one key is shown.").waitFor({ state: "hidden" });
    await page.close();
    return wrong;
  });

  test("keys: what is revoked names its owner", async () => {
    for (const name of ["twins", "twins"]) await env.owner("POST", "/api-keys", { name, organizationId: env.org });
    const page = await env.page();
    await page.goto(env.within("/settings/keys", env.org));
    await settled(page);
    await env.shoot(page, "keys");
    await page.getByRole("row", { name: /twins/ }).first().getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByText("It belongs to").waitFor();
    await page.getByRole("dialog").getByText("Other keys have this name too").waitFor();
    await env.shoot(page, "revoke-twin");
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });

  test("drafts: the text of a new policy stays through a reload and another way to begin", async () => {
    const page = await env.page();
    await page.goto(env.within("/policies/new", env.org));
    await page.locator("textarea").first().fill("Agents may read mail.");
    await page.goto(env.within("/policies/new?from=text", env.org));
    await settled(page);
    await page.goto(env.within("/policies/new", env.org));
    await page.reload();
    await settled(page);
    const kept = await page.locator("textarea").first().inputValue();
    const wrong = await problemsOf(page);
    if (kept !== "Agents may read mail.") wrong.push(`after a reload it says ${JSON.stringify(kept)}`);
    await page.close();
    return wrong;
  });
}
