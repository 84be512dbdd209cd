// Receipts are verified without the server: docs/audit-log-format.md says how.
import type { components } from "./api.js";
import { type Bytes, equal, fromBase64, fromHex, hexOf, sha256, utf8 } from "./bytes.js";
import { type Checkpoint, type Key, openCheckpoint, parseKey } from "./checkpoint.js";

/** Receipt proves that an entry is in an organization's log; each recorded decision has one. */
export type Receipt = components["schemas"]["Receipt"];

/** Entry is what the receipt is about, as the log or an export has it: the texts that were hashed. */
export interface Entry {
  record: string;
  payload?: string;
  salt?: string;
}

/** Keys are those that the caller trusts: a list of them, or a text with one on each line. */
export type Keys = string | readonly string[];

/** Problem is the first check that fails. */
export type Problem =
  | "key" // a key is none, or none is given
  | "receipt" // it is not in its form
  | "leaf" // the record does not hash to the leaf
  | "record" // the record is of another entry
  | "signature" // no trusted key signed the checkpoint
  | "origin" // the checkpoint is of another log or epoch
  | "path" // leaf and proof do not give the root
  | "payload"; // the payload is not the one that the record commits to

/** What each problem is, in words. */
const wordsOf: Record<Problem, string> = {
  key: "a key is none, or none was given",
  receipt: "it does not have the form of a receipt",
  leaf: "the record is not the one that the receipt is about: it does not hash to the leaf",
  record: "the record is of another entry than the receipt says",
  signature: "none of the keys signed the checkpoint",
  origin: "the checkpoint is of another log or epoch than the receipt says",
  path: "the leaf and the proof do not lead to the root of the checkpoint",
  payload: "payload and salt are not those that the record commits to",
};

/** NotVerified says which check of a receipt failed: in words, and for programs as problem. */
export class NotVerified extends Error {
  override name = "NotVerified";
  constructor(
    readonly problem: Problem,
    words = wordsOf[problem],
  ) {
    super(`the receipt is not verified: ${words} (${problem})`);
  }
}

/** Verified is what a receipt proves: the entry of this number is in this log of this installation. */
export interface Verified {
  installation: string;
  log: string;
  epoch: number;
  index: number;
  /** How many entries the log had. */
  size: number;
  /** The record, where it was given: who, what, when, and the verdict. */
  record?: Record<string, unknown>;
}

/**
 * verifyReceipt checks a receipt with keys that the caller trusts (GET /audit-log/key, asked once and kept); with an
 * entry, also that the receipt is about it. Keys are a list of them, or one text with a key on each line, as
 * `writ audit key` prints them. It throws NotVerified.
 */
export async function verifyReceipt(receipt: Receipt, keys: Keys, entry?: Entry): Promise<Verified> {
  const trusted = await keysOf(keys);
  if (!isReceipt(receipt)) throw new NotVerified("receipt");
  const leaf = fromBase64(receipt.leaf);
  const record = entry && (await recordOf(receipt, entry, leaf));
  const checkpoint = await openCheckpoint(receipt.checkpoint, trusted);
  if (!checkpoint) throw new NotVerified("signature");
  if (checkpoint.log !== receipt.log || checkpoint.epoch !== receipt.epoch) throw new NotVerified("origin");
  if (leaf?.length !== 32 || !(await leadsTo(checkpoint, receipt, leaf))) throw new NotVerified("path");
  if (entry && record) await checkPayload(entry, record);
  const { installation, log, epoch, size } = checkpoint;
  return { installation, log, epoch, size, index: receipt.index, ...(record ? { record } : {}) };
}

/** keysOf reads the keys of a list, or of the lines of a text; those that are empty, or begin with #, are none. */
async function keysOf(given: Keys): Promise<Key[]> {
  const texts = typeof given === "string" ? [given] : (given ?? []);
  const lines = texts.flatMap((text) => String(text).trim().split("\n"));
  const keys: Key[] = [];
  for (const [i, line] of lines.map((text) => text.trim()).entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const key = await parseKey(line);
    if (!key) throw new NotVerified("key", `key ${i + 1} is no key as \`writ audit key\` prints it`);
    keys.push(key);
  }
  if (keys.length === 0) throw new NotVerified("key", "no key was given");
  return keys;
}

function isReceipt(value: unknown): value is Receipt {
  const { log, epoch, index, leaf, proof, checkpoint } = (value ?? {}) as Partial<Receipt>;
  return (
    [log, leaf, checkpoint].every((text) => typeof text === "string") &&
    [epoch, index].every((number) => Number.isSafeInteger(number) && (number ?? -1) >= 0) &&
    (proof === null || (Array.isArray(proof) && proof.every((hash) => typeof hash === "string")))
  );
}

async function recordOf(receipt: Receipt, { record }: Entry, leaf?: Bytes): Promise<Record<string, unknown>> {
  if (!leaf || !equal(await sha256(Uint8Array.of(0), utf8(record)), leaf)) throw new NotVerified("leaf");
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(record);
  } catch {
    throw new NotVerified("record");
  }
  if (value?.v !== 1 || value.log !== receipt.log || value.index !== receipt.index) throw new NotVerified("record");
  return value;
}

async function checkPayload({ payload, salt }: Entry, record: Record<string, unknown>): Promise<void> {
  if (payload === undefined) return;
  const secret = fromHex(salt ?? "");
  if (secret?.length !== 32) {
    throw new NotVerified("payload", "salt is not that of an entry, which has 64 hexadecimal digits");
  }
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const seal = hexOf(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(payload))));
  if (seal !== record.payload) throw new NotVerified("payload");
}

/**
 * leadsTo folds a leaf with its proof (RFC 9162, section 2.1.3.2) and compares the root. Halves are taken by
 * arithmetic, because shifts of JavaScript cut at 32 bits.
 */
async function leadsTo({ size, root }: Checkpoint, { index, proof }: Receipt, leaf: Bytes): Promise<boolean> {
  if (index >= size) return false;
  const half = (n: number) => Math.floor(n / 2);
  let [at, last, hash] = [index, size - 1, leaf];
  for (const text of proof ?? []) {
    const beside = fromBase64(text);
    if (beside?.length !== 32 || last === 0) return false;
    if (at % 2 === 1 || at === last) {
      hash = await sha256(Uint8Array.of(1), beside, hash);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      hash = await sha256(Uint8Array.of(1), hash, beside);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && equal(hash, root);
}
