// The vectors that the Go side makes and checks: good ones, and forgeries of each kind.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verifyByBrowser, verifyByScript } from "./hash";
import { judge, type Vector } from "./judge";

const file = new URL("../../../internal/audit/ledger/testdata/vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];

describe.each([
  ["WebCrypto", verifyByBrowser],
  ["the script", verifyByScript],
])("vectors, signatures by %s", (_, by) => {
  it("are many, of every problem", () => {
    expect(vectors.filter((v) => v.problem === "").length).toBeGreaterThan(50);
    expect(new Set(vectors.map((v) => v.problem)).size).toBe(11);
  });

  it.each(vectors.map((v) => [v.name, v] as const))("%s", async (_, v) => {
    expect(await judge(v, by)).toBe(v.problem);
  });

  it("no vector holds after one bit of it is changed", async () => {
    const good = vectors.find((v) => v.name === "entry 6 of 13, seen 7") as Vector;
    expect(await judge(good, by)).toBe("");
    const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
    for (let at = 0; at < good.record.length; at += 7) {
      expect(await judge({ ...good, record: flip(good.record, at) }, by)).not.toBe("");
    }
    for (let at = 0; at < good.receipt.checkpoint.length; at += 7) {
      const receipt = { ...good.receipt, checkpoint: flip(good.receipt.checkpoint, at) };
      expect(await judge({ ...good, receipt }, by)).not.toBe("");
    }
    for (const [i, hash] of (good.receipt.proof ?? []).entries()) {
      const proof = [...(good.receipt.proof ?? [])];
      proof[i] = flip(hash, 3);
      expect(await judge({ ...good, receipt: { ...good.receipt, proof } }, by)).not.toBe("");
    }
  });
});
