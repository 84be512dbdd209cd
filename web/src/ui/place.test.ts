// @vitest-environment happy-dom
import { beforeEach, expect, it } from "vitest";
import { keptPlace } from "./place";

const at = (key: string | undefined, path = "/ui/decisions") => history.replaceState({ __TSR_key: key }, "", path);

beforeEach(() => at("first"));

it("keeps the place for the entry of the history that it was left in", () => {
  keptPlace("Decisions").keep({ offset: 900, row: 30 });
  expect(keptPlace("Traces").came).toBeUndefined();
  at("second");
  expect(keptPlace("Decisions").came).toBeUndefined();
  at("first");
  expect(keptPlace("Decisions").came).toEqual({ offset: 900, row: 30 });
});

it("keeps nothing for the entry that a slow link leads to", () => {
  const list = keptPlace("Decisions");
  at("third", "/ui/audit/7");
  list.keep({ offset: 500 });
  expect(keptPlace("Decisions").came).toBeUndefined();
});

it("keeps nothing where the router has not named the entry", () => {
  at(undefined);
  keptPlace("Decisions").keep({ offset: 900 });
  expect(keptPlace("Decisions").came).toBeUndefined();
});

it("forgets the oldest", () => {
  keptPlace("Decisions").keep({ offset: 1 });
  for (let n = 0; n < 100; n++) keptPlace(`another ${n}`).keep({ offset: n });
  expect(keptPlace("Decisions").came).toBeUndefined();
  expect(keptPlace("another 99").came).toEqual({ offset: 99 });
});
