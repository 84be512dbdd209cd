// Referrals from beginning to end: one organization makes its code, another claims it by the link.
import { axeProblems, openContext, problemsOf, settled, signInContext } from "./browser.mjs";
import { signUp } from "./mails.mjs";

const person = { name: "Gus", email: "gus@example.org", password: "a long enough password" };

export function tests({ test, env }) {
  test("journey: make a code, give its link to another organization, which claims it once", async () => {
    const wrong = [];
    const page = await env.page();
    await page.goto(env.within("/settings", env.org));
    await page.getByRole("link", { name: "Referrals" }).click();
    await page.getByRole("button", { name: "Make the code" }).click();
    const link = await page.getByText("/ui/settings/referrals?code=").textContent();
    const code = new URL(link).searchParams.get("code");
    await page.getByText(code, { exact: true }).waitFor();
    await page.getByText("$0.00").waitFor();
    // Nobody refers themselves.
    await claim(page, code);
    await page.getByRole("dialog").getByText("nobody refers themselves").waitFor();
    await page.keyboard.press("Escape");

    const gus = await signUp(env.server, person);
    await gus("POST", "/organization", { name: "Gus's" });
    const other = await openContext(env.browser, env.server.url);
    await signInContext(other, env.server.url, person.email, person.password);
    const there = await other.newPage();
    await there.goto(link);
    await settled(there);
    await claim(there, "WRONGWRONG12");
    await there.getByRole("dialog").getByText("There is no such code.").waitFor();
    wrong.push(...(await axeProblems(there)));
    await env.shoot(there, "settings-referrals-wrong");
    await there.keyboard.press("Escape");
    await there.goto(link);
    if ((await there.getByLabel("Their code").inputValue()) !== code) wrong.push("the link does not fill in the code");
    await claim(there);
    await there.getByText("This organization claimed a code").waitFor();
    await env.shoot(there, "settings-referrals-claimed");
    wrong.push(...(await problemsOf(there)), ...(await axeProblems(there)));
    await other.close();

    await page.reload();
    await page.getByText("$10.00").waitFor();
    await env.shoot(page, "settings-referrals-earned");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });
}

/** claim claims a code, or the one that is filled in. */
async function claim(page, code) {
  if (code) await page.getByLabel("Their code").fill(code);
  await page.getByRole("button", { name: "Claim…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Claim the code" }).click();
}
