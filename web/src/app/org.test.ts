import { expect, test } from "vitest";
import { chooseOrg, type Organization } from "./org";

const org = (id: string, demo: boolean) => ({ id, name: id, demo }) as Organization;

test("demo data is shown only if nothing else is there, or it is asked for", () => {
  const [demo, real] = [org("a", true), org("b", false)];
  expect(chooseOrg([demo, real], undefined)).toBe(real);
  expect(chooseOrg([demo], undefined)).toBe(demo);
  expect(chooseOrg([demo, real], "a")).toBe(demo);
  expect(chooseOrg([demo, real], "c")).toBeUndefined();
});

test("a terminal may name an organization by its name, unless there are several of that name", () => {
  const called = (id: string, name: string) => ({ id, name, demo: false }) as Organization;
  const [one, two, three] = [called("1", "Payments"), called("2", "Twins"), called("3", "Twins")];
  expect(chooseOrg([one, two, three], "Payments")).toBe(one);
  expect(chooseOrg([one, two, three], "Twins")).toBeUndefined();
});
