// Receipts that the server's own code made, good and forged.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { NotVerified, verifyReceipt } from "@writ/client";

const file = new URL("../../../internal/audit/ledger/testdata/vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8"));

// What is wrong with these is what was seen before them: by itself, their receipt is good.
const later = ["shrunk", "rewritten", "epoch"];
const isGood = ({ problem, name }) => problem === "" || later.includes(problem) || name.includes("a checkpoint seen");

test("receipts are verified as the server's code verifies them", async () => {
  assert.ok(vectors.length > 100);
  for (const vector of vectors) {
    const { name, receipt, keys, record, problem } = vector;
    if (isGood(vector)) {
      const verified = await verifyReceipt(receipt, keys, vector);
      assert.equal(verified.index, receipt.index, name);
      assert.deepEqual(verified.record, JSON.parse(record), name);
      continue;
    }
    // A record that is spelled otherwise is found by its leaf, which is in no tree.
    const problems = problem === "record" ? ["record", "path"] : [problem];
    await assert.rejects(
      verifyReceipt(receipt, keys, vector),
      (error) => error instanceof NotVerified && problems.includes(error.problem),
      name,
    );
  }
});

test("a receipt without its record proves that its leaf is in the log", async () => {
  const [{ receipt, keys }] = vectors;
  const { record, size } = await verifyReceipt(receipt, keys);
  assert.deepEqual([record, size], [undefined, 1]);
  for (const forged of [
    { ...receipt, index: 1 },
    { ...receipt, index: -1 },
    { ...receipt, index: "0" },
    { ...receipt, log: "org-2" },
    { ...receipt, epoch: 1 },
    { ...receipt, leaf: receipt.leaf.replace("V", "W") },
    { ...receipt, proof: [receipt.leaf] },
    { ...receipt, checkpoint: receipt.checkpoint.replace("\n1\n", "\n2\n") },
    {},
    null,
  ]) {
    await assert.rejects(verifyReceipt(forged, keys), NotVerified);
  }
});

const [{ receipt: good, keys: goodKeys }] = vectors;
const [key] = goodKeys;

test("keys are taken as files have them", async () => {
  for (const keys of [
    key,
    `${key}\n`,
    `# ours\r\n${key}\r\n\r\n`,
    [`${key}\n`],
    [` ${key}`, ""],
    [`${key}\n${key}\n`],
  ]) {
    assert.equal((await verifyReceipt(good, keys)).size, 1, String(keys));
  }
});

test("a key that is none is named", async () => {
  for (const [keys, words] of [
    [[], /no key was given/],
    [undefined, /no key was given/],
    ["", /no key was given/],
    [["", "\n"], /no key was given/],
    [[`${key}\n`, key.slice(0, -1)], /key 2 is no key as `writ audit key` prints it/],
    [["", "no key", key], /key 2 is no key/],
    [`${key}\nno key\n`, /key 2 is no key/],
    [[null, key], /key 1 is no key/],
  ]) {
    await assert.rejects(verifyReceipt(good, keys), { name: "NotVerified", problem: "key", message: words });
  }
});

test("problems are said in words", async () => {
  const told = new Set();
  for (const vector of vectors) {
    const error = await verifyReceipt(vector.receipt, vector.keys, vector).catch((problem) => problem);
    if (!(error instanceof NotVerified)) continue;
    assert.match(error.message, new RegExp(`^the receipt is not verified: .* .* \\(${error.problem}\\)$`));
    told.add(error.problem);
  }
  for (const problem of ["key", "leaf", "origin", "path", "payload", "signature"]) assert.ok(told.has(problem), problem);
  await assert.rejects(verifyReceipt({}, goodKeys), /it does not have the form of a receipt/);
  const { record } = vectors[0];
  await assert.rejects(verifyReceipt(good, goodKeys, { record, payload: "{}" }), /salt is not that of.*\(payload\)/);
});
