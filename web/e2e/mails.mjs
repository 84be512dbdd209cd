// What the server mails, and people who come by it.
import { caller, elsewhere } from "./server.mjs";

// Mails are written behind the answers that promise them; how fast the machine is must not decide.
const longest = 60_000;

/** mailed is what the newest mail to somebody has of a form, once there is one that is not the mail before. */
export async function mailed(server, to, form, before) {
  for (const end = Date.now() + longest; ; ) {
    const found = server
      .mails()
      .map((mail) => mail.split(/\r?\n\r?\n/))
      .filter(([head]) => head.includes(`To: ${to}`) || head.includes(`To: <${to}>`))
      .map(([, ...body]) => form.exec(body.join("\n\n")))
      .findLast(Boolean);
    const text = found?.[1] ?? found?.[0];
    if (text !== undefined && text !== before) return text;
    if (Date.now() > end) throw new Error(`no mail to ${to} has ${form}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** signUp makes an account and gives a caller for the person; the token of an invitation lets them in. */
export async function signUp(server, { email, password, name }, inviteToken) {
  const anyone = caller(server.url, elsewhere());
  await anyone("POST", "/auth/register", { email, password, name, ...(inviteToken ? { inviteToken } : {}) });
  await anyone("POST", "/auth/verify-otp", { email, password, code: await mailed(server, email, /\b(\d{6})\b/) });
  const { accessToken } = await anyone("POST", "/auth/login", { email, password });
  return caller(server.url, { Authorization: `Bearer ${accessToken}` });
}

/** joined makes somebody a member of an organization, by an invitation. */
export async function joined({ server, owner, org }, person, role = "member") {
  await owner("POST", `/organization/${org}/members/invite`, { email: person.email, role });
  const token = await mailed(server, person.email, /token=([\w-]+)/);
  const call = await signUp(server, person, token);
  await call("POST", "/organization/invites/accept", { token });
  return call;
}
