import type { Body } from "../../api/client";

type Member = Body<"MemberBody">;

/** mayInherit are the members who may get somebody's keys: others than that person, and no viewers, who have none. */
export const mayInherit = (members: Member[], leaving: string) =>
  members.filter((m) => m.userId !== leaving && m.role !== "viewer");

/** keysTo is who gets the keys by organization, as the server is told; nobody is left out. */
export const keysTo = (heirs: Record<string, string>) =>
  Object.entries(heirs).flatMap(([organizationId, userId]) => (userId ? [{ organizationId, userId }] : []));
