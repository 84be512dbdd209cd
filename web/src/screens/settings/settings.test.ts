import { expect, it } from "vitest";
import { words } from "../../words/en";
import { headersOf } from "./headers";
import { codeOf, linkOf } from "./referralLink";

it("reads headers line by line", () => {
  expect(headersOf("x-api-key: a:b \n\n Authorization:Bearer c\nbare")).toEqual({
    "x-api-key": "a:b",
    Authorization: "Bearer c",
    bare: "",
  });
});

it("has a sentence for every role", () => {
  expect(Object.keys(words.settings.roles)).toEqual(["owner", "admin", "approver", "member", "viewer"]);
});

it("reads a code as people paste it, and writes the link that carries it", () => {
  expect(codeOf(" k3zq 7mpa\n4xwt ")).toBe("K3ZQ7MPA4XWT");
  expect(linkOf("https://writ.example.com", "K3ZQ&x=1")).toBe(
    "https://writ.example.com/ui/settings/referrals?code=K3ZQ%26x%3D1",
  );
});
