// What people do with their own account, from beginning to end: second factor, another address, its end.
import { createHmac } from "node:crypto";
import { openContext, signInContext } from "./browser.mjs";

const person = { email: "fay@example.org", next: "fay.new@example.org", password: "a long enough password" };

export function tests({ test, env }) {
  const { url } = env.server;

  test("journey: add a second factor, sign in with it, change the address, delete the account", async () => {
    const wrong = [];
    await register(env);
    const context = await openContext(env.browser, url);
    await signInContext(context, url, person.email, person.password);
    const page = await context.newPage();
    await page.goto(env.within("/me", env.org));

    await page.getByRole("button", { name: "Add a second factor" }).click();
    await page.getByLabel("Your password").last().fill(person.password);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("img", { name: "The secret as a picture for your app" }).waitFor();
    const secret = await page.locator(".factor-secret").textContent();
    await page.getByLabel("Code of the app").fill(codeOf(secret));
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
    const recovery = await page.locator(".recovery code").allTextContents();
    if (recovery.length !== 10) wrong.push(`${recovery.length} recovery codes`);
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByText("10 recovery codes are left.").waitFor();

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
    await page.getByLabel("Code for the present address").fill(mailed(env.server, person.email, /address is (\d{8})/));
    await page.getByLabel("Code for the new address").fill(mailed(env.server, person.next, /address is (\d{8})/));
    await page.getByRole("button", { name: "Change the address" }).click();
    await page.getByText("The address is changed.").waitFor();

    await page.getByRole("button", { name: "Delete the account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Your password").fill(person.password);
    await dialog.getByRole("textbox").last().fill(person.next);
    await dialog.getByRole("button", { name: "Delete the account" }).click();
    await page.getByRole("heading", { name: "Sign in to Writ" }).waitFor();
    wrong.push(...context.problems);
    await context.close();
    return wrong;
  });
}

/** register makes the person a member by an invitation. */
async function register({ server, owner, org }) {
  await owner("POST", `/organization/${org}/members/invite`, { email: person.email, role: "member" });
  const inviteToken = mailed(server, person.email, /token=([\w-]+)/);
  await post(server.url, "/auth/register", { ...credentials(), name: "Fay", inviteToken });
  await post(server.url, "/auth/verify-otp", { ...credentials(), code: mailed(server, person.email, /\b(\d{6})\b/) });
  const { accessToken } = await post(server.url, "/auth/login", credentials());
  await post(server.url, "/organization/invites/accept", { token: inviteToken }, accessToken);
}

const credentials = () => ({ email: person.email, password: person.password });

async function post(url, path, body, token) {
  const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/** mailed is what the newest mail to somebody has of a form. */
function mailed(server, to, form) {
  const found = server
    .mails()
    .filter((text) => text.includes(`To: ${to}`) || text.includes(`To: <${to}>`))
    .map((text) =>
      form.exec(
        text
          .split(/\r?\n\r?\n/)
          .slice(1)
          .join("\n\n"),
      ),
    )
    .findLast(Boolean);
  if (!found) throw new Error(`no mail to ${to} has ${form}`);
  return found[1];
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
