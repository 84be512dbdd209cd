import { expect, it } from "vitest";
import type { Body } from "../../api/client";
import { keysTo, mayInherit } from "./heir";

const member = (userId: string, role: string) => ({ userId, role }) as Body<"MemberBody">;

it("offers members who may have keys, and never the one who leaves", () => {
  const all = [member("me", "owner"), member("a", "viewer"), member("b", "member"), member("c", "admin")];
  expect(mayInherit(all, "me").map((m) => m.userId)).toEqual(["b", "c"]);
});

it("tells the server of those who were chosen", () => {
  expect(keysTo({ one: "a", two: "" })).toEqual([{ organizationId: "one", userId: "a" }]);
  expect(keysTo({})).toEqual([]);
});
