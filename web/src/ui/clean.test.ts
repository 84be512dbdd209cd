import { describe, expect, it } from "vitest";
import { clean, cut, fileName, jsonPieces, nameOf, pieces, spoofedHosts } from "./clean";

const shown = (list: ReturnType<typeof pieces>) => list.map((p) => ("text" in p ? p.text : nameOf(p)));

describe("text of agents", () => {
  it.each([
    ["a\u202eb", ["a", "U+202E", "b"]],
    ["\u0000\u001b[31m", ["U+0000", "U+001B", "[31m"]],
    ["x\u200by", ["x", "U+200B", "y"]],
    ["\u{e0041}", ["U+E0041"]],
    ["\ud800", ["U+D800"]],
    ["two\nlines\tand a tab", ["two\nlines\tand a tab"]],
    ["👩‍💻 and ❤️", ["👩‍💻 and ❤️"]],
    ["👩🏽‍💻", ["👩🏽‍💻"]],
    ["a\u200db", ["a", "U+200D", "b"]],
    ["1\ufe0f2", ["1", "U+FE0F", "2"]],
    ["#\ufe0f*\ufe0f", ["#", "U+FE0F", "*", "U+FE0F"]],
    ["1\ufe0f\u20e3", ["1\ufe0f\u20e3"]],
    ["1\u200d😀", ["1", "U+200D", "😀"]],
    ["a\u2800b", ["a", "U+2800", "b"]],
    [`a${"\u200b".repeat(1998)}b`, ["a", "U+200B ×1,998", "b"]],
  ])("shows what %j hides", (text, want) => {
    expect(shown(pieces(text))).toEqual(want);
  });

  it("shows two texts that differ as two texts", () => {
    const invisible = ["\ufe0f", "\u200b", "\u200d", "\u202e", "\u2066", "\u00ad", "\u{e0041}", "\u2800", "\u0007"];
    for (const char of invisible) {
      for (const text of ["12", "ab", "é#", "x*"]) {
        const changed = `${text[0]}${char}${text.slice(1)}`;
        expect(shown(pieces(changed)).join("")).not.toBe(changed);
      }
    }
  });

  it("makes one line for titles, and cuts it", () => {
    expect(clean("pay\n\n  rent\u202e")).toBe("pay rent[U+202E]");
    expect([...clean("😀".repeat(100), 10)]).toHaveLength(10);
    expect(clean("\u200b".repeat(1_000_000))).toBe("[U+200B ×4,000]");
  });

  it("cuts between characters", () => {
    expect(cut("ab😀", 3)).toBe("ab");
    expect(cut("ab😀", 4)).toBe("ab😀");
  });

  it("makes names of files that are no paths", () => {
    expect(fileName("../../etc/passwd")).toBe("etc-passwd");
    expect(fileName("\u202e")).toBe("U-202E-");
    expect(fileName("///")).toBe("writ");
  });

  it("shows hosts that mix scripts in punycode", () => {
    expect(spoofedHosts("see https://user@аpple.com/x and https://example.com")).toEqual([
      { host: "аpple.com", ascii: "xn--pple-43d.com" },
    ]);
  });
});

describe("strings of JSON", () => {
  it.each([
    ['landlord"\namount: 900\nnote: "ok', ['landlord\\"\\namount: 900\\nnote: \\"ok']],
    ["C:\\new\ttab\r", ["C:\\\\new\\ttab\\r"]],
    ["a\u2028b", ["a", "U+2028", "b"]],
    ["a\u3000b", ["a", "U+3000", "b"]],
    [`to${" ".repeat(200)}amount: 900`, ["to", "U+0020 ×200", "amount: 900"]],
    ["two  spaces", ["two  spaces"]],
  ])("shows %j on one line", (text, want) => {
    expect(shown(jsonPieces(text))).toEqual(want);
  });

  it("says again what the string was", () => {
    for (let i = 0; i < 0x3000; i++) {
      const text = `x${String.fromCodePoint(i)}"\\y`;
      const parts = jsonPieces(text);
      for (const part of parts) if ("text" in part) expect(part.text).not.toMatch(/[\n\r\u2028\u2029\u0085\t]/);
      const written = parts
        .map((p) => ("text" in p ? p.text : String.fromCodePoint(Number.parseInt(p.code.slice(2), 16)).repeat(p.times)))
        .join("");
      const strict = written.replace(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
      expect(JSON.parse(`"${strict}"`)).toBe(text);
    }
  });
});
