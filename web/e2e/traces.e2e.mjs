// What people do with traces and sessions.
import { axeProblems, problemsOf, settled } from "./browser.mjs";

export function tests({ test, env }) {
  test("journey: from a denied span to its entry", async () => {
    const page = await env.page();
    await page.goto(env.within("/traces?status=denied&agentId='-window.__xss=5-'", env.org));
    await settled(page);
    await page
      .getByRole("row", { name: /Denied/ })
      .first()
      .click();
    await page.getByRole("treegrid").waitFor();
    const denied = page.getByRole("treegrid").getByRole("row").filter({ hasText: "Deny" });
    // Not in its middle, where the badge is.
    await denied.filter({ hasText: "bank.send_money" }).getByText("bank.send_money").click();
    await page.locator(".span-panel").getByText("Reason").waitFor();
    await settled(page);
    await env.shoot(page, "trace-decision");
    const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
    const proof = page.locator(".span-panel").getByRole("link", { name: /Proof of entry \d+/ });
    const index = /\d+/.exec((await proof.textContent()) ?? "")?.[0];
    await proof.click();
    await page.waitForURL(/\/ui\/audit\/\d+/);
    if (!page.url().includes(`/ui/audit/${index}`)) wrong.push(`the proof led to ${page.url()}`);
    await page.getByRole("heading", { name: /send_money/ }).waitFor();
    await page.close();
    return wrong;
  });

  test("a session that only decisions name shows them", async () => {
    const page = await env.page();
    await page.goto(env.within("/sessions/s1", env.org));
    await page
      .getByRole("link", { name: /Deny, open entry/ })
      .first()
      .waitFor();
    const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
    await page.close();
    return wrong;
  });

  test("a session of 1,200 traces is read page by page, with few rows in the page", async () => {
    const page = await env.page();
    await page.goto(env.within(`/sessions/${env.seeded.long}`, env.org));
    await page.getByText("1,200 traces").waitFor();
    const box = page.getByRole("region", { name: /What happened/ });
    const wrong = [];
    const last = () => box.evaluate((e) => Math.max(...[...e.querySelectorAll("li")].map((li) => li.ariaPosInSet)));
    for (let i = 0; i < 200 && (await last()) < 1200; i++) {
      const before = await last();
      await box.evaluate((e) => e.scrollTo(0, e.scrollHeight));
      await page.waitForFunction(
        (n) => Math.max(...[...document.querySelectorAll(".timeline li")].map((li) => li.ariaPosInSet)) > n,
        before,
        { timeout: 10_000 },
      );
      const rows = await box.getByRole("listitem").count();
      if (rows > 120) wrong.push(`${rows} rows`);
    }
    if ((await last()) !== 1200) wrong.push(`the last is ${await last()}`);
    wrong.push(...(await problemsOf(page)));
    await env.shoot(page, "session-long");
    await page.close();
    return wrong;
  });

  test("a client's span has no link to an entry, whatever it says", async () => {
    const page = await env.page();
    await page.goto(env.within(`/traces/${env.seeded.rich}?q=says`, env.org));
    const row = page.getByRole("treegrid").getByRole("row", { name: /says allow/ });
    await row.click();
    await page.getByText("as the client says, without an entry").waitFor();
    const links = await page.locator(".span-panel a[href*='/audit/']").count();
    await page.close();
    return links === 0 ? [] : ["it leads to an entry"];
  });

  test("a trace of 10,000 spans opens, scrolls and finds, with few rows in the page", async () => {
    const page = await env.page();
    await page.goto(env.within(`/traces/${env.seeded.large}`, env.org));
    const grid = page.getByRole("treegrid");
    await grid.waitFor({ timeout: 30_000 });
    await page.getByText("10,000 spans").waitFor();
    const wrong = [];
    const check = async (when) => {
      const rows = await grid.getByRole("row").count();
      const nodes = await grid.locator("*").count();
      if (rows === 0 || rows > 120) wrong.push(`${rows} rows ${when}`);
      if (nodes > 2000) wrong.push(`${nodes} nodes ${when}`);
    };
    await check("at first");
    // Open all: find every span, so that each is a row.
    await page.getByRole("searchbox", { name: "Find a span" }).fill("step");
    await page.waitForFunction(
      () => Number(document.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")) === 10_000,
      undefined,
      { timeout: 15_000 },
    );
    await check("with all rows");
    for (const share of [0.3, 0.7, 1]) {
      await grid.evaluate((e, s) => e.scrollTo(0, e.scrollHeight * s), share);
      await page.waitForFunction(
        (s) => {
          const rows = [...document.querySelectorAll("[role=treegrid] [data-index]")].map((r) =>
            Number(r.dataset.index),
          );
          return Math.max(...rows) >= 10_000 * s - 100;
        },
        share,
        { timeout: 10_000 },
      );
      await check(`at ${share}`);
    }
    await grid.evaluate((e) => e.scrollTo(0, 0));
    await grid.locator("[data-index='0']").focus();
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "10000");
    await check("at the end");
    wrong.push(...(await problemsOf(page)));
    await env.shoot(page, "trace-large");
    await page.close();
    return wrong;
  });

  test("traces: keyboard, columns and export", async () => {
    const page = await env.page();
    const wrong = [];
    await page.goto(env.within("/traces", env.org));
    await settled(page);
    const table = page.getByRole("table", { name: "Traces" });
    await table.locator("[data-index='0']").focus();
    await page.keyboard.press("End");
    await page.waitForFunction(() => Number(document.activeElement?.getAttribute("data-index")) > 10);
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-index") === "0");
    const stops = await table.evaluate((t) => t.querySelectorAll("[tabindex='0']").length);
    if (stops > 4) wrong.push(`${stops} tab stops`);

    await page.getByRole("button", { name: "Columns" }).click();
    wrong.push(...(await axeProblems(page)));
    // What is shown stands in the address: the box is ticked when that has changed.
    const tags = page.getByRole("checkbox", { name: "Tags" });
    await tags.click();
    await tags.and(page.locator(":checked")).waitFor();
    await page.getByLabel("Width of Name, in pixels").fill("300");
    await page.waitForURL(/cols=.*name:300.*tags/);
    await page.keyboard.press("Escape");
    await table.getByRole("columnheader", { name: "Tags" }).waitFor();
    await env.shoot(page, "traces-columns");

    await page.getByRole("button", { name: "Export" }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "Traces as CSV" }).click(),
    ]);
    if (file.suggestedFilename() !== "traces.csv") wrong.push(`the file is ${file.suggestedFilename()}`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("a next page that fails is asked for once, and again by its button", async () => {
    const page = await env.page();
    let asked = 0;
    let fail = true;
    await page.route(/observability\/traces\?/, async (route) => {
      const url = new URL(route.request().url());
      if (!url.searchParams.get("cursor")) {
        const answer = await route.fetch();
        const body = await answer.json();
        return route.fulfill({ response: answer, json: { ...body, hasMore: true, nextCursor: "x" } });
      }
      asked++;
      if (fail) return route.fulfill({ status: 500, json: { message: "broken" } });
      return route.fulfill({ json: { items: [], hasMore: false } });
    });
    await page.goto(env.within("/traces", env.org));
    await page.locator("[role=row][data-index='0']").focus();
    await page.keyboard.press("End");
    await page.getByRole("alert").waitFor();
    await page.waitForTimeout(1500);
    const wrong = asked === 1 ? [] : [`it was asked for ${asked} times`];
    fail = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("alert").waitFor({ state: "detached" });
    if (asked !== 2) wrong.push(`the button asked ${asked - 1} times`);
    await page.close();
    return wrong;
  });

  test("a list that is opened while the server is away says so, and of nothing that it is from before", async () => {
    const page = await env.page();
    await page.goto(env.within("/findings", env.org));
    await settled(page);
    await page.route(/\/audit-log\/entries\?|observability\/(traces|sessions)/, (route) => route.abort());
    const wrong = [];
    for (const name of ["Decisions", "Traces", "Sessions", "Audit log"]) {
      await page.getByRole("link", { name, exact: true }).first().click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      const alert = page.getByRole("alert").filter({ hasText: "The server does not answer." }).first();
      await alert.waitFor({ timeout: 15_000 });
      if ((await page.getByText("from before").count()) > 0) wrong.push(`${name}: nothing is from before`);
    }
    await env.shoot(page, "list-away");
    await page.close();
    return wrong;
  });

  test("traces, sessions and entries that are not there say so", async () => {
    const page = await env.page();
    const id = "00000000-0000-4000-8000-000000000000";
    await page.goto(env.within(`/traces/${id}`, env.org));
    await page.getByText("There is no such trace.").waitFor();
    await page.goto(env.within(`/sessions/${id}`, env.org));
    await page.getByText("There is no such session.").waitFor();
    await page.goto(env.within("/audit/99999999", env.org));
    await page.getByText("This entry is not in the log.").waitFor();
    await page.getByRole("link", { name: "To the audit log" }).waitFor();
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });

  test("a phone shows a span as a sheet", async () => {
    const page = await env.page();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(env.within(`/traces/${env.seeded.rich}`, env.org));
    await page.getByRole("treegrid").getByRole("row").nth(1).click();
    await page.getByRole("button", { name: "Close the span" }).waitFor();
    await settled(page);
    const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
    await env.shoot(page, "trace-sheet");
    await page.getByRole("button", { name: "Close the span" }).click();
    await page.getByRole("button", { name: "Close the span" }).waitFor({ state: "detached" });
    await page.close();
    return wrong;
  });
}
