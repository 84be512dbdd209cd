import { expect, it } from "vitest";
import { errorOf } from "../api/errors";
import { explain } from "./states";

const answered = (status: number, body: object) => errorOf(new Response(null, { status }), JSON.stringify(body));

it("leaves open whether something was done where the server failed at it", () => {
  const { help } = explain(answered(503, { message: "the database is away" }), true);
  expect(help).toContain("It is not known whether this was done.");
});

it("says that an identity provider does not work, and not that the outcome is unknown", () => {
  const refused = answered(503, { message: "it cannot be reached", code: "identity_provider_unusable" });
  const { title, help } = explain(refused, true);
  expect(title).toContain("The identity provider cannot be reached");
  expect(help).not.toContain("not known");
});

it.each([true, false])("says that a server has no mail, and who adds people there (writing: %s)", (writing) => {
  const refused = answered(503, { message: "mail is not configured: set WRIT_SMTP_URL", code: "mail_not_configured" });
  const { title, help } = explain(refused, writing);
  expect(title).toBe("This server sends no mail.");
  for (const command of ["writd user create", "writd org add-member", "writd user set-password"])
    expect(help).toContain(command);
});
