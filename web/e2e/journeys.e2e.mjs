// What people do, from beginning to end.
import { openContext, problemsOf, settled, signInContext } from "./browser.mjs";

export function tests({ test, env }) {
  test("journey: sign in, deep link, sign out in two tabs", async () => {
    const context = await openContext(env.browser, env.server.url);
    const page = await context.newPage();
    await page.goto("/ui/blog");
    await page.goto("/ui/findings?kind=sequence_gap");
    await page.getByLabel("E-mail").fill(env.server.first.email);
    await page.getByLabel("Password").fill("wrong password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").getByText("E-mail or password is wrong").waitFor();
    await page.getByLabel("Password").fill(env.server.first.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Findings" }).waitFor();
    if (!page.url().includes("/ui/findings?kind=sequence_gap")) return [`the link led to ${page.url()}`];

    // The way back does not lead to the form, which would lead here again.
    await page.goBack();
    await page.waitForURL("**/ui/blog");
    await page.goForward();
    await page.getByRole("heading", { name: "Findings" }).waitFor();

    const second = await context.newPage();
    await second.goto("/ui/");
    await second.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Account" }).click();
    // The page does not wait for the server, whose answer takes the cookie away.
    const told = page.waitForResponse("**/auth/logout");
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await (await told).finished();
    await page.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    await second.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    const left = (await context.cookies()).filter((c) => c.name.includes("session"));
    await context.close();
    return left.map((c) => `the cookie ${c.name} is still there`);
  });

  test("journey: back from an entry, and the list stands where it was", async () => {
    const wrong = [];
    const page = await env.page();
    await page.setViewportSize({ width: 1280, height: 480 });
    await page.goto(env.within("/audit", env.org));
    const table = page.getByRole("table", { name: "Audit log" });
    const row = table.locator('[data-index="40"]');
    await table.locator('[data-index="0"]').focus();
    for (let n = 0; n < 4; n++) await page.keyboard.press("PageDown");
    await row.and(page.locator(":focus")).waitFor();
    const before = await table.evaluate((t) => t.scrollTop);
    if (before < 500) wrong.push(`the list is at ${before}`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Record" }).waitFor();
    await page.goBack();
    await row.and(page.locator(":focus")).waitFor();
    await settled(page);
    const after = await table.evaluate((t) => t.scrollTop);
    if (Math.abs(after - before) > 1) wrong.push(`the list was at ${before} and is at ${after}`);
    // Who comes by a link begins at the top.
    await page.getByRole("link", { name: "Decisions" }).first().click();
    await page.getByRole("heading", { name: "Decisions" }).waitFor();
    await page.getByRole("link", { name: "Audit log" }).first().click();
    await table.locator('[data-index="0"]').waitFor();
    const fresh = await table.evaluate((t) => t.scrollTop);
    if (fresh !== 0) wrong.push(`a list that is opened anew begins at ${fresh}`);
    await page.close();
    return wrong;
  });

  test("journey: a screen is opened while the server is away, and comes when it is back", async () => {
    const context = await openContext(env.browser, env.server.url);
    await signInContext(context, env.server.url, env.server.first.email, env.server.first.password);
    const page = await context.newPage();
    await page.goto(env.within("/findings", env.org));
    await settled(page);
    await page.evaluate(() => {
      window.__stays = true;
    });
    await page.route(/\/(assets|health)\b/, (route) => route.abort());
    await page.getByRole("link", { name: "Plans", exact: true }).first().click();
    await page.getByText("The page opens when it does.").waitFor();
    await page.getByRole("heading", { name: "Findings" }).waitFor();
    await page.unroute(/\/(assets|health)\b/);
    await page.getByRole("heading", { name: "Plans" }).waitFor();
    const wrong = (await page.evaluate(() => window.__stays)) ? [] : ["the page was loaded again"];
    await settled(page);
    wrong.push(...(await problemsOf(page)));
    await context.close();
    return wrong;
  });
}
