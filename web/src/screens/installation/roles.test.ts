import { expect, it } from "vitest";
import type { Organization } from "../../app/org";
import { invitable, rolesIn } from "./roles";

const organization = (id: string, ...rights: string[]) => ({ id, rights }) as unknown as Organization;

it("offers only organizations in which the operator may invite", () => {
  const all = [organization("a", "members.manage"), organization("b", "members.read"), organization("c")];
  expect(invitable(all).map((o) => o.id)).toEqual(["a"]);
});

it("lets only owners make owners", () => {
  expect(rolesIn(organization("a", "members.manage"))).toEqual(["admin", "approver", "member", "viewer"]);
  expect(rolesIn(organization("a", "members.manage", "owners.manage"))[0]).toBe("owner");
});
