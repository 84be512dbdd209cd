import { expect, it } from "vitest";
import { parseCheck } from "./check";

it("reads the answer of a check", () => {
  expect(parseCheck('{"entries":1207,"problems":0}\n')).toEqual({ entries: 1207, problems: [] });
  const found = '{"log":"o","kind":"payload","entries":"3-5","message":"altered"}\n';
  expect(parseCheck(`${found}{"entries":9,"problems":1}\n`)).toEqual({
    entries: 9,
    problems: [{ kind: "payload", entries: "3-5", message: "altered" }],
  });
  // Without its last line, or with another count, the check did not end.
  expect(parseCheck(found).entries).toBeUndefined();
  expect(parseCheck('{"entries":9,"problems":1}\n').entries).toBeUndefined();
  expect(parseCheck("").entries).toBeUndefined();
});
