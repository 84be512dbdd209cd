// Where the focus is: after what stands above the page has closed, and after a secret was copied.
import { openContext, settled, signInContext, tabTo } from "./browser.mjs";

const opened = (page) => page.locator('[role="dialog"], [role="menu"]');

/** back notes if the focus does not come to a button. */
export async function back(page, button, what, wrong) {
  const came = await button
    .and(page.locator(":focus"))
    .waitFor({ timeout: 5_000 })
    .then(
      () => true,
      () => false,
    );
  const at = await page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`);
  if (!came) wrong.push(`${what}: the focus is on ${at.slice(0, 60)}`);
}

export function tests({ test, env }) {
  test("focus: what closes gives it back to what opened it", async () => {
    const wrong = [];
    const page = await env.page();
    for (const [path, name] of [
      ["/settings/keys", "Make a key"],
      ["/settings/members", "Invite"],
      ["/settings", "Close organization"],
      ["/servers", "Register a server…"],
      ["/agents", "Kill switch…"],
      ["/agents", "Register an agent…"],
      ["/me", "Add a second factor"],
      ["/", "Account"],
    ]) {
      await page.goto(env.within(path, env.org));
      await settled(page);
      const button = page.getByRole("button", { name: new RegExp(`^${name}`) }).first();
      await button.focus();
      await page.keyboard.press("Enter");
      await opened(page).waitFor();
      await page.keyboard.press("Escape");
      await opened(page).waitFor({ state: "detached" });
      await back(page, button, `${path}, ${name}`, wrong);
    }
    await page.setViewportSize({ width: 820, height: 700 });
    const menu = page.getByRole("button", { name: "Menu" }).first();
    await menu.focus();
    await page.keyboard.press("Enter");
    await opened(page).waitFor();
    await page.keyboard.press("Escape");
    await back(page, menu, "the drawer", wrong);
    await page.close();
    return wrong;
  });

  test("focus: a key is made and copied with the keyboard, where the browser has no clipboard", async () => {
    const wrong = [];
    const context = await openContext(env.browser, env.server.url);
    await signInContext(context, env.server.url, env.server.first.email, env.server.first.password);
    // As on plain HTTP.
    await context.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    const page = await context.newPage();
    await page.goto(env.within("/settings/keys", env.org));
    await settled(page);
    const make = page.getByRole("button", { name: "Make a key" });
    await make.focus();
    await page.keyboard.press("Enter");
    await tabTo(page, "Name");
    await page.keyboard.type("made by hand");
    await page.keyboard.press("Enter");
    const secret = await page.getByRole("dialog").locator("code.secret").textContent();
    const copy = page.getByRole("dialog").getByRole("button", { name: /Cop/ });
    await back(page, copy, "the secret", wrong);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Copied").waitFor();
    await back(page, copy, "after copying", wrong);
    await tabTo(page, "Close");
    await page.keyboard.press("Enter");
    await opened(page).waitFor({ state: "detached" });
    await back(page, make, "after the secret", wrong);
    await page.keyboard.press("Enter");
    await tabTo(page, "Name");
    await page.keyboard.press("Control+v");
    const pasted = await page.getByRole("dialog").getByLabel("Name").inputValue();
    if (pasted !== secret) wrong.push(`what was copied is ${pasted.length} characters, not ${secret.length}`);
    wrong.push(...context.problems);
    await context.close();
    return wrong;
  });
}
