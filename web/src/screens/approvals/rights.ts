// Who may answer, as far as a page can know. The server decides; this only says it before somebody tries.
import type { Shown } from "./queries";

const roles = ["owner", "admin", "approver", "member", "viewer"];

export interface Answerer {
  id: string;
  email: string;
  role: string;
  rights: readonly string[];
}

/** Bar is why somebody may not answer. */
export type Bar =
  | { is: "role" }
  | { is: "higher"; role: string }
  | { is: "asked"; of: string }
  | { is: "voted" }
  | { is: "own" }
  | { is: "alone"; needed: number };

/** approveBar is why the person may not approve; undefined: nothing that the page knows of. */
export function approveBar(request: Shown, who: Answerer): Bar | undefined {
  if (request.kind === "ask") return request.ownerId === who.id ? undefined : { is: "asked", of: request.ownerId };
  return decideBar(request, who) ?? (request.votes.some((v) => v.userId === who.id) ? { is: "voted" } : undefined);
}

/** rejectBar is the same for a rejection: everybody may stop their own agent. */
export function rejectBar(request: Shown, who: Answerer): Bar | undefined {
  return request.ownerId === who.id && who.rights.includes("keys.own") ? undefined : decideBar(request, who);
}

function decideBar(request: Shown, who: Answerer): Bar | undefined {
  if (!who.rights.includes("approvals.decide")) return { is: "role" };
  const wanted = request.approverRole ? roles.indexOf(request.approverRole) : -1;
  if (wanted >= 0 && roles.indexOf(who.role) > wanted) return { is: "higher", role: request.approverRole ?? "" };
  return undefined;
}

/** isOwn reports whether the call was made by the person's key or in their name: then another one must approve. */
export function isOwn(request: Shown, who: Answerer): boolean {
  if (request.kind === "ask") return false;
  const names = [request.userId, request.requesterEmail].map((n) => n?.toLowerCase());
  return request.ownerId === who.id || names.includes(who.id) || names.includes(who.email.toLowerCase());
}

/** Colleagues is what decides who answers one's own request. Undefined members are not known. */
export interface Colleagues {
  /** The ids of all who may approve. */
  approvers: readonly string[] | undefined;
  /** Whether the organization lets people approve what they ask for. */
  selfApproval: boolean | undefined;
  /** Whether the call's plan was delegated: who did that may not answer either, and a page does not know who it was. */
  delegated: boolean | undefined;
}

/** ownBar is why the person may not approve their own request, null if they may; undefined: the page cannot know. */
export function ownBar(request: Shown, who: Answerer, known: Colleagues): Bar | null | undefined {
  const { approvers, selfApproval, delegated } = known;
  if (selfApproval) return null;
  if (!approvers || selfApproval === undefined) return undefined;
  const others = approvers.some((id) => id !== who.id && id !== request.ownerId);
  if (others) return delegated === false ? { is: "own" } : undefined;
  return request.needed > 1 ? { is: "alone", needed: request.needed } : null;
}

/** noneFor names the words that say which requests somebody sees, where there is none. */
export function noneFor(rights: readonly string[]): "noneHelp" | "noneOwn" | "noneToSee" {
  if (rights.includes("approvals.decide")) return "noneHelp";
  return rights.includes("keys.own") ? "noneOwn" : "noneToSee";
}
