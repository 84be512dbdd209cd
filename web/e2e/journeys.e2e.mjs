// What people do, from beginning to end.
import { openContext } from "./browser.mjs";

export function tests({ test, env }) {
  test("journey: sign in, deep link, sign out in two tabs", async () => {
    const context = await openContext(env.browser, env.server.url);
    const page = await context.newPage();
    await page.goto("/ui/findings?kind=sequence_gap");
    await page.getByLabel("E-mail").fill(env.server.first.email);
    await page.getByLabel("Password").fill("wrong password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").getByText("E-mail or password is wrong").waitFor();
    await page.getByLabel("Password").fill(env.server.first.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Findings" }).waitFor();
    if (!page.url().includes("/ui/findings?kind=sequence_gap")) return [`the link led to ${page.url()}`];

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
}
