// What was opened from a list has neighbours: [ and ] go to them.
import { problemsOf, settled } from "./browser.mjs";

const lists = [
  { path: "/traces", ids: "traces" },
  { path: "/sessions", ids: "sessions" },
  { path: "/findings?state=all", ids: "findings" },
  { path: "/decisions", ids: "audit" },
  { path: "/audit", ids: "audit" },
  { path: "/agents", ids: "agents" },
];

export function tests({ test, env }) {
  for (const { path, ids } of lists) {
    test(`neighbours: [ and ] in what was opened from ${path}`, async () => {
      const page = await env.page();
      await page.goto(env.within(path, env.org));
      await settled(page);
      await page.locator("[data-index='0']").focus();
      const seen = [];
      const opened = async (act) => {
        const before = page.url();
        await act();
        await page.waitForURL((url) => url.href !== before && url.pathname.startsWith(`/ui/${ids}/`));
        await settled(page);
        seen.push(new URL(page.url()).pathname);
      };
      await opened(() => page.keyboard.press("Enter"));
      await opened(() => page.keyboard.press("]"));
      await opened(() => page.keyboard.press("["));
      const wrong = await problemsOf(page);
      if (seen[0] === seen[1] || seen[0] !== seen[2]) wrong.push(`it went ${seen.join(" → ")}`);
      if (!page.url().includes(`org=${env.org}`)) wrong.push(`the organization is lost: ${page.url()}`);
      await page.keyboard.press("[");
      await page.waitForTimeout(200);
      if (ids !== "audit" && new URL(page.url()).pathname !== seen[0]) wrong.push(`before the first is ${page.url()}`);
      await page.close();
      return wrong;
    });
  }

  test("a finding has an address of its own, and one that is not there says so", async () => {
    const page = await env.page();
    const { items } = await env.owner("GET", `/audit-log/findings?organizationId=${env.org}`);
    let lists = 0;
    page.on("request", (request) => {
      if (/\/audit-log\/findings\?/.test(request.url())) lists++;
    });
    await page.goto(env.within(`/findings/${items[0].id}`, env.org));
    await page.getByRole("heading", { name: "Something ran that nobody allowed." }).waitFor();
    const wrong = await problemsOf(page);
    if (lists > 0) wrong.push("the list was read for one finding");
    await page.goto(env.within("/findings/0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", env.org));
    await page
      .getByRole("link", { name: /findings/i })
      .first()
      .waitFor();
    await page.locator(".state").waitFor();
    await page.close();
    return wrong;
  });

  test("device: what a terminal says of itself is text", async () => {
    const { user_code, device_code } = await fetch(`${env.server.url}/auth/device/code`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": `<img src=x onerror="window.__xss=10">` },
      body: JSON.stringify({ client: "writ", product: "<script>window.__xss=11</script>" }),
    }).then((answer) => answer.json());
    const page = await env.page();
    await page.goto(env.within(`/device?user_code=${user_code}`, env.org));
    await page.getByText("window.__xss=11").waitFor();
    await page.getByText("window.__xss=10").waitFor();
    const wrong = await problemsOf(page);
    await page.getByRole("button", { name: "Not me" }).click();
    await page.getByRole("status").filter({ hasText: "Denied." }).waitFor();
    await page.close();
    const told = await fetch(`${env.server.url}/auth/device/token`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ deviceCode: device_code, client: "writ" }),
    }).then((answer) => answer.json());
    if (told.error !== "access_denied") wrong.push(`the terminal is told ${told.error}`);
    return wrong;
  });
}
