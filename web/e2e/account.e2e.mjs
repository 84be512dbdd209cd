// What people do with their own account, from beginning to end: second factor, another address, its end.
import { createHmac } from "node:crypto";
import { axeProblems, openContext, signInContext } from "./browser.mjs";
import { back } from "./focus.e2e.mjs";
import { joined, mailed } from "./mails.mjs";
import { caller } from "./server.mjs";

const person = {
  name: "Fay",
  email: "fay@example.org",
  next: "fay.new@example.org",
  password: "a long enough password",
};

export function tests({ test, env }) {
  const { url } = env.server;

  test("journey: add a second factor, sign in with it, change the address, delete the account", async () => {
    const wrong = [];
    const fay = await joined(env, person);
    const made = await fay("POST", "/api-keys", { name: "handed over", organizationId: env.org });
    const context = await openContext(env.browser, url);
    await signInContext(context, url, person.email, person.password);
    const page = await context.newPage();
    await page.goto(env.within("/me", env.org));

    await page.getByRole("button", { name: "Add a second factor" }).click();
    await page.getByRole("dialog").getByLabel("Your password").fill(person.password);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("img", { name: "The secret as a picture for your app" }).waitFor();
    const secret = await page.locator(".factor-secret").textContent();
    await page.getByLabel("Code of the app").fill(codeOf(secret));
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
    const replaced = await page.locator(".recovery code").allTextContents();
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByText("10 recovery codes are left.").waitFor();
    const recovery = await renewed(page, replaced, wrong);

    const other = await openContext(env.browser, url);
    const there = await other.newPage();
    await there.goto("/ui/sign-in");
    await there.getByLabel("E-mail").fill(person.email);
    await there.getByLabel("Password").fill(person.password);
    await there.getByRole("button", { name: "Sign in", exact: true }).click();
    await there.getByLabel("Code").fill("000000");
    await there.getByRole("button", { name: "Sign in", exact: true }).click();
    await there.getByText("The code is wrong or was used").waitFor();
    await there.getByLabel("Code").fill(recovery[0]);
    await there.getByRole("button", { name: "Sign in", exact: true }).click();
    await there.getByRole("heading", { name: "Overview" }).waitFor();
    await other.close();

    await page.getByLabel("New address").fill(person.next);
    await page.locator("section", { hasText: "New address" }).getByLabel("Your password").fill(person.password);
    await page.getByRole("button", { name: "Send the codes" }).click();
    await page.getByLabel("Code for the present address").waitFor();
    await page
      .getByLabel("Code for the present address")
      .fill(await mailed(env.server, person.email, /address is (\d{8})/));
    await page.getByLabel("Code for the new address").fill(await mailed(env.server, person.next, /address is (\d{8})/));
    await page.getByRole("button", { name: "Change the address" }).click();
    await page.getByText("The address is changed.").waitFor();

    await page.getByRole("button", { name: "Delete the account" }).click();
    const dialog = page.getByRole("dialog");
    const heir = dialog.getByLabel(/they go to$/);
    const owner = await heir.locator("option", { hasText: env.server.first.email }).getAttribute("value");
    await heir.selectOption(owner);
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "me-delete-account");
    await dialog.getByLabel("Your password").fill(person.password);
    await dialog.getByRole("textbox").last().fill(person.next);
    await dialog.getByRole("button", { name: "Delete the account" }).click();
    await page.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    await keyWorks(url, made, wrong);
    const { data: keys } = await env.owner("GET", `/api-keys?organizationId=${env.org}&limit=100`);
    if (keys.find((k) => k.id === made.id)?.ownerId !== owner) wrong.push("the key has another owner");
    wrong.push(...context.problems);
    await context.close();
    return wrong;
  });
}

/** renewed replaces the recovery codes, once somebody has read that the old ones end. */
async function renewed(page, replaced, wrong) {
  const dialog = page.getByRole("dialog");
  const button = page.getByRole("button", { name: "New recovery codes…" });
  await button.click();
  await dialog.getByText("The ones that you have stop working at once.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await back(page, button, "Cancel", wrong);
  await button.click();
  await dialog.getByRole("button", { name: "Make new codes" }).click();
  await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
  const recovery = await page.locator(".recovery code").allTextContents();
  if (recovery.length !== 10) wrong.push(`${recovery.length} recovery codes`);
  if (recovery.some((code) => replaced.includes(code))) wrong.push("the recovery codes are the old ones");
  await page.getByRole("button", { name: "I have kept them" }).click();
  await dialog.waitFor({ state: "detached" });
  return recovery;
}

/** keyWorks notes whether a key was refused: it was handed over with the account's end. */
async function keyWorks(url, key, wrong) {
  const agent = caller(url, { "x-api-key": key.apiKey });
  await agent("POST", "/iap/enforce", { tool_name: "web.search", tool_input: {}, agent_id: "billing" }).catch((e) =>
    wrong.push(`the key does not work: ${e.message}`),
  );
}

/** codeOf is what an authenticator app shows now. */
function codeOf(secret) {
  const bits = [...secret]
    .map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => Number.parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const sum = createHmac("sha1", key).update(counter).digest();
  const number = sum.readUInt32BE(sum[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}
