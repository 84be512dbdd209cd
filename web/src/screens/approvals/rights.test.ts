import { expect, it } from "vitest";
import type { Shown } from "./queries";
import { approveBar, type Colleagues, isOwn, noneFor, ownBar, rejectBar } from "./rights";

const request = (more: object = {}) =>
  ({ kind: "hold", ownerId: "owner", votes: [], needed: 1, ...more }) as unknown as Shown;
const person = (id: string, role: string, ...rights: string[]) => ({ id, email: `${id}@example.org`, role, rights });
const approver = person("ann", "approver", "approvals.decide", "keys.own");
const member = person("mia", "member", "keys.own");
const viewer = person("vic", "viewer");

it("lets approvers answer holds, with the role that the rule wants", () => {
  expect(approveBar(request(), approver)).toBeUndefined();
  expect(approveBar(request(), member)).toEqual({ is: "role" });
  expect(approveBar(request(), viewer)).toEqual({ is: "role" });
  expect(approveBar(request({ approverRole: "admin" }), approver)).toEqual({ is: "higher", role: "admin" });
  expect(approveBar(request({ votes: [{ userId: "ann" }] }), approver)).toEqual({ is: "voted" });
});

it("lets only the owner of the key answer an ask", () => {
  expect(approveBar(request({ kind: "ask", ownerId: "mia" }), member)).toBeUndefined();
  expect(approveBar(request({ kind: "ask" }), approver)).toEqual({ is: "asked", of: "owner" });
});

it("lets everybody stop their own agent", () => {
  expect(rejectBar(request({ ownerId: "mia" }), member)).toBeUndefined();
  expect(rejectBar(request(), member)).toEqual({ is: "role" });
  expect(rejectBar(request({ ownerId: "vic" }), viewer)).toEqual({ is: "role" });
});

it("knows one's own requests, by key and by name", () => {
  expect(isOwn(request({ ownerId: "ann" }), approver)).toBe(true);
  expect(isOwn(request({ requesterEmail: "ANN@example.org" }), approver)).toBe(true);
  expect(isOwn(request(), approver)).toBe(false);
});

it("says who must answer one's own request, where the page knows", () => {
  const own = (known: Partial<Colleagues>, more: object = {}) =>
    ownBar(request({ ownerId: "ann", ...more }), approver, {
      approvers: ["ann", "bob"],
      selfApproval: false,
      delegated: false,
      ...known,
    });
  expect(own({})).toEqual({ is: "own" });
  expect(own({ selfApproval: true })).toBeNull();
  expect(own({ approvers: ["ann"] })).toBeNull();
  expect(own({ approvers: ["ann"] }, { needed: 2 })).toEqual({ is: "alone", needed: 2 });
  // Whose key it is may not answer either, whoever looks.
  expect(own({}, { ownerId: "bob", userId: "ann" })).toBeNull();
  for (const unknown of ["approvers", "selfApproval", "delegated"])
    expect(own({ [unknown]: undefined })).toBeUndefined();
  expect(own({ delegated: true })).toBeUndefined();
});

it("speaks of their own keys only to those who can have some", () => {
  expect([approver, member, viewer].map((p) => noneFor(p.rights))).toEqual(["noneHelp", "noneOwn", "noneToSee"]);
});
