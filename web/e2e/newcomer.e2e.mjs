// What a new person meets on a server of their own: one organization with the draft starter, demo data, no billing.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { axeProblems, openContext, problemsOf, settled, signInContext } from "./browser.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const patience = { timeout: 20_000 };

export function tests({ test, env }) {
  /** A test on a server of its own, whose first person looks at it. */
  const alone = (name, look) =>
    test(`newcomer: ${name}`, async () => {
      const server = await startServer();
      try {
        const context = await openContext(env.browser, server.url);
        await signInContext(context, server.url, server.first.email, server.first.password);
        const wrong = await look(await context.newPage(), server);
        await context.close();
        return wrong;
      } finally {
        await server.stop();
      }
    });

  alone("the first decision leads to the draft starter", async (page) => {
    await page.goto("/ui/start");
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.locator("code", { hasText: "ak_" }).first().waitFor();
    await run("bash", ["-c", (await page.locator("pre.command").textContent()) ?? ""]);
    await page.getByText("A draft is there: starter.").waitFor(patience);
    await page.getByRole("link", { name: "Write the first policy" }).waitFor();
    const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
    await env.shoot(page, "newcomer-starter");
    await page.getByRole("link", { name: "Read the draft starter" }).click();
    await page.getByRole("heading", { name: "starter", level: 1 }).waitFor(patience);
    return wrong;
  });

  alone("demo data: whole when it opens, keeps its name, and is closed after a question", async (page, { first }) => {
    const wrong = [];
    await page.goto("/ui/");
    await page.getByRole("button", { name: "Look around with demo data" }).click();
    await page.getByText("Demo data. Nothing here is real.").waitFor(patience);
    const demo = new URL(page.url()).searchParams.get("org");
    // Who reads the figures once does not read them too early.
    await page.getByText("Invoice reader").first().waitFor(patience);

    await page.goto(`/ui/settings?org=${demo}`);
    await page.getByText("Demo data keeps its name").waitFor(patience);
    if (await page.getByRole("button", { name: "Rename" }).isVisible()) wrong.push("Rename is offered");
    await env.shoot(page, "newcomer-demo-settings");

    const close = page.getByRole("button", { name: "Close the demo" });
    await close.first().click();
    const dialog = page.getByRole("dialog", { name: "Close the demo?" });
    await env.shoot(page, "newcomer-demo-close");
    wrong.push(...(await axeProblems(page)));
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    if (!(await page.getByText("Demo data. Nothing here is real.").isVisible())) wrong.push("Cancel closed it");
    await close.first().click();
    await dialog.getByRole("button", { name: "Close the demo" }).click();
    await page.getByText("The demo is closed.").waitFor(patience);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor(patience);
    await settled(page);
    const shown = new URL(page.url()).searchParams.get("org") ?? first.organizationId;
    if (shown !== first.organizationId) wrong.push(`the page shows ${page.url()}`);
    wrong.push(...(await problemsOf(page)));
    return wrong;
  });

  alone("no page of the settings asks for what is off", async (page) => {
    const missing = [];
    page.on("response", (answer) => answer.status() === 404 && missing.push(answer.url()));
    for (const path of ["", "/members", "/keys", "/retention"]) {
      await page.goto(`/ui/settings${path}`);
      await settled(page);
    }
    await page.goto("/ui/settings/billing");
    await page.getByText("Billing is off on this server.").waitFor(patience);
    return missing.map((url) => `not found: ${url}`);
  });
}
