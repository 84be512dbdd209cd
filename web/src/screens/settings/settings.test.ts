import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { words } from "../../words/en";
import { events } from "./events";
import { headersOf } from "./headers";
import { limitsOf, tripsOf } from "./limits";
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

it("says every right of the server in words", () => {
  const source = readFileSync(new URL("../../../../internal/principal/role.go", import.meta.url), "utf8");
  const rights = [...source.matchAll(/Action = "([a-z_.]+)"/g)].map((m) => m[1] ?? "");
  expect(rights.length).toBeGreaterThan(15);
  expect(rights.filter((right) => !words.settings.rights[right])).toEqual([]);
});

it("offers webhooks every kind of event that the server has, in words", () => {
  const folder = new URL("../../../../internal/notification/notice/", import.meta.url);
  const source = readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("\n");
  const listed = /func Kinds\(\) \[\]Kind \{\s*return \[\]Kind\{([^}]*)\}/.exec(source)?.[1] ?? "";
  const values = listed.split(",").flatMap((name) => {
    const value = new RegExp(
      `\\b${name.trim()}\\s+(?:Kind )?= "([a-z_.]+)"|\\b${name.trim()}\\s+Kind = "([a-z_.]+)"`,
    ).exec(source);
    return name.trim() ? [value?.[1] ?? value?.[2] ?? name] : [];
  });
  expect(values.length).toBeGreaterThan(11);
  expect([...events].sort()).toEqual(values.sort());
  expect(events.filter((kind) => !words.inbox.kinds[kind])).toEqual([]);
});

it("reads a code as people paste it, and writes the link that carries it", () => {
  expect(codeOf(" k3zq 7mpa\n4xwt ")).toBe("K3ZQ7MPA4XWT");
  expect(linkOf("https://writ.example.com", "K3ZQ&x=1")).toBe(
    "https://writ.example.com/ui/settings/referrals?code=K3ZQ%26x%3D1",
  );
});

it("sends every trip that is set, and none that is empty", () => {
  const trips = { costPerDay: 2.5, callsPerMinute: 0, findingsPerDay: { lease_gap: 3, of_tomorrow: 1 } };
  const form = limitsOf({ unregisteredMayAct: true, trips }, ["lease_gap", "sequence_gap", "of_tomorrow"]);
  expect(form).toEqual({
    trips: { costPerDay: "2.5", callsPerMinute: "", denialsPerMinute: "", rejectedInARow: "" },
    findings: { lease_gap: "3", sequence_gap: "", of_tomorrow: "1" },
    lease: "0",
  });
  form.trips.denialsPerMinute = "20";
  form.findings.lease_gap = " ";
  expect(tripsOf(form)).toEqual({ costPerDay: 2.5, denialsPerMinute: 20, findingsPerDay: { of_tomorrow: 1 } });
  expect(tripsOf(limitsOf({ unregisteredMayAct: true }, ["lease_gap"]))).toEqual({});
});
