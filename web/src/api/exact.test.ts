import { describe, expect, it } from "vitest";
import { Exact, parseJson, writeExact } from "./exact";

// A generator of its own: the same numbers in every run.
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const digits = (pick: (n: number) => number, length: number) =>
  Array.from({ length }, () => String(pick(10))).join("") || "0";

/** someNumber is any number that JSON can hold. */
function someNumber(pick: (n: number) => number): string {
  const whole = pick(3) === 0 ? "0" : `${1 + pick(9)}${pick(2) ? digits(pick, 1 + pick(24)) : ""}`;
  const fraction = pick(2) ? `.${digits(pick, 1 + pick(24))}` : "";
  const exponent = pick(4) === 0 ? `${"eE"[pick(2)]}${["", "+", "-"][pick(3)]}${1 + pick(400)}` : "";
  return `${pick(3) === 0 ? "-" : ""}${whole}${fraction}${exponent}`;
}

describe("exact JSON", () => {
  it("keeps numbers that a double would change", () => {
    const text =
      '{"amount":12345678901234567890,"price":0.10000000000000000001,"round":1.50,"zero":-0,"small":1e-7,"n":7}';
    const value = parseJson(text) as Record<string, unknown>;
    expect(value.amount).toBeInstanceOf(Exact);
    expect(String(value.amount)).toBe("12345678901234567890");
    expect(value.n).toBe(7);
    expect(writeExact(value, 0)).toBe(text);
  });

  it("gives back every number as it was written", () => {
    const pick = random(19);
    for (let i = 0; i < 20_000; i++) {
      const written = someNumber(pick);
      const text = pick(2) ? `[${written}]` : `{"a\\"1e5":"${written}","n":${written}}`;
      expect(writeExact(parseJson(text), 0)).toBe(text);
    }
  });

  it.each(["123456789.123456789", "0.0000001", "9007199254740993", "1.0", "-0", "1E5", "1e400"])("keeps %s", (n) => {
    expect(writeExact(parseJson(n), 0)).toBe(n);
  });

  it("takes digits in strings for what they are", () => {
    const id = '{"id":"0199d1c2-7a54-4c1e-9b7e-2f6a4c1d8e30","text":"1.50 and \\\\","n":3}';
    expect(parseJson(id)).toEqual(JSON.parse(id));
  });

  it("is never rounded by JSON.stringify", () => {
    const value = { amount: new Exact("12345678901234567890") };
    let written: string | undefined;
    try {
      written = JSON.stringify(value);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
    }
    expect([undefined, '{"amount":12345678901234567890}']).toContain(written);
  });

  it.each([
    '{"a":[1e5,{"b":"x\\\\\\"y\\\\"},null,true,false,[],{}],"c":"\\ud83d\\ude00"}',
    '  [ 1.0 , "a\\nb" ]  ',
    '"no numbers"',
    "{}",
  ])("reads %s as JSON.parse does", (text) => {
    expect(JSON.parse(writeExact(parseJson(text), 0))).toEqual(JSON.parse(text));
  });

  it.each([
    "[1e5,]",
    '{"a":1e5,}',
    "[1e5",
    "01e5",
    "1e5 x",
    '{"a" 1e5}',
    '["1e5',
    "[1e5 2]",
    "+1e5",
    "[1e5,nul]",
    "[1.2.3]",
    "[1-2]",
    '"cut',
    "",
  ])("refuses %s", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  it("takes __proto__ as a name like any other", () => {
    const value = parseJson('{"__proto__":{"admin":1e5}}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect((value as { admin?: unknown }).admin).toBeUndefined();
  });

  it("refuses what is nested too deep instead of failing", () => {
    expect(() => parseJson(`${"[".repeat(5000)}1e5${"]".repeat(5000)}`)).toThrow(SyntaxError);
  });
});
