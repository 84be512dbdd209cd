import { expect, it } from "vitest";
import { words } from "../../words/en";
import { headersOf } from "./headers";

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
