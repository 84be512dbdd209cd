import type { Organization } from "../../app/org";

const all = ["owner", "admin", "approver", "member", "viewer"] as const;

const may = (o: Organization, action: string) => (o.rights as string[]).includes(action);

/** invitable are the organizations to which an operator may invite: being an operator gives no right in any. */
export const invitable = (organizations: Organization[]) => organizations.filter((o) => may(o, "members.manage"));

/** rolesIn are the roles that an operator may give in an organization. */
export const rolesIn = (o: Organization) => all.filter((role) => role !== "owner" || may(o, "owners.manage"));
