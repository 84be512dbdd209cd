// Which organization a tab shows, and demo data.
import { problemsOf, settled } from "./browser.mjs";

export function tests({ test, env }) {
  test("organization: another tab does not change the one of this", async () => {
    const first = await env.page();
    await first.goto(env.within("/findings", env.org));
    await settled(first);
    const second = await env.page();
    await second.goto(env.within("/", env.emptyOrg));
    await settled(second);
    await first.getByRole("link", { name: "Overview" }).first().click();
    await first.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    const wrong = [];
    if (!first.url().includes(`org=${env.org}`)) wrong.push(`a link led to ${first.url()}`);
    if (await first.getByText("No decision yet.").isVisible()) wrong.push("the first tab shows the other organization");
    await first.goto("/ui/findings");
    await settled(first);
    await first
      .waitForURL((url) => url.searchParams.get("org") === env.org, { timeout: 5000 })
      .catch(() => {
        wrong.push(`an address without an organization showed ${first.url()}`);
      });
    await first.close();
    await second.close();
    return wrong;
  });

  test("organization: a link into one that the person is not in shows no other", async () => {
    const page = await env.page();
    await page.goto(env.within("/audit/1", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"));
    await page.getByText("You are not in this organization.").waitFor();
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });

  test("demo: made by the button, marked everywhere, closed after a question", async () => {
    const page = await env.page();
    const wrong = [];
    await page.goto(env.within("/", env.emptyOrg));
    await page.getByText("No decision yet.").waitFor();
    // Other tests may have made it.
    const make = page.getByRole("button", { name: /Look around with demo data|Open the demo/ });
    await make.click();
    await page.getByText("Demo data. Nothing here is real.").waitFor({ timeout: 30_000 });
    const demo = new URL(page.url()).searchParams.get("org");
    await settled(page);
    await page.getByText("Invoice reader").first().waitFor();
    await page.getByRole("link", { name: "Findings" }).first().click();
    await page.getByRole("heading", { name: "Findings" }).waitFor();
    if (!(await page.getByText("Demo data. Nothing here is real.").isVisible())) wrong.push("findings are not marked");
    wrong.push(...(await problemsOf(page)));
    await page.getByRole("button", { name: "Close the demo" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close the demo" }).click();
    await page.getByText("The demo is closed.").waitFor();
    await settled(page);
    const left = await env.owner("GET", "/organization");
    if (left.items.some((o) => o.id === demo)) wrong.push("the organization is still open");
    if (page.url().includes(demo)) wrong.push(`the page still shows it: ${page.url()}`);
    await page.close();
    env.demoClosed();
    return wrong;
  });
}
