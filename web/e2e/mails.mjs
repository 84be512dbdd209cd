// What the server mails, and people who come by it.
import { caller, elsewhere } from "./server.mjs";

/** mailed is what the newest mail to somebody has of a form. */
export function mailed(server, to, form) {
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

/** signUp makes an account and gives a caller for the person; the token of an invitation lets them in. */
export async function signUp(server, { email, password, name }, inviteToken) {
  const anyone = caller(server.url, elsewhere());
  await anyone("POST", "/auth/register", { email, password, name, ...(inviteToken ? { inviteToken } : {}) });
  await anyone("POST", "/auth/verify-otp", { email, password, code: mailed(server, email, /\b(\d{6})\b/) });
  const { accessToken } = await anyone("POST", "/auth/login", { email, password });
  return caller(server.url, { Authorization: `Bearer ${accessToken}` });
}

/** joined makes somebody a member of an organization, by an invitation. */
export async function joined({ server, owner, org }, person, role = "member") {
  await owner("POST", `/organization/${org}/members/invite`, { email: person.email, role });
  const token = mailed(server, person.email, /token=([\w-]+)/);
  const call = await signUp(server, person, token);
  await call("POST", "/organization/invites/accept", { token });
  return call;
}
