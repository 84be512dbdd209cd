// From a record to what this browser saw before, one check after another. The first
// that fails ends it: what stands behind would prove nothing.
import { type Bytes, equal, fromBase64, fromHex } from "./bytes";
import { leafHash, sealOf, type Verify, verify } from "./hash";
import { type Checkpoint, type Key, openCheckpoint, parseKeys } from "./note";
import { parseRecord } from "./record";
import { climb, isConsistent, type Level } from "./tree";

/** Problem is the first check that fails. */
export type Problem =
  | "key" // a key is none, or what was seen is signed by another
  | "leaf" // the record does not hash to its leaf
  | "record" // the record is not in its form, or of another entry
  | "signature" // no trusted key signed the root
  | "origin" // the checkpoint is of another log or epoch
  | "path" // leaf and hashes do not give the root
  | "payload" // the payload is not the one that the record seals
  | "shrunk" // the log is smaller than it was
  | "rewritten" // it does not begin with what was seen
  | "epoch"; // a restore lost what was seen

/** Shown is an entry as the server shows it. */
export interface Shown {
  record: string;
  receipt: { log: string; epoch: number; index: number; leaf: string; proof: string[] | null; checkpoint: string };
  payload?: string | undefined;
  salt?: string | undefined;
}

/** Proved is what was computed, as far as it went. */
export interface Proved {
  problem?: Problem;
  leaf?: Bytes;
  levels?: Level[];
  checkpoint?: Checkpoint;
  /** Whether the payload was there to be checked. */
  sealed?: boolean;
}

/** checkEntry checks an entry against keys. */
export async function checkEntry(shown: Shown, keyTexts: string[], by: Verify = verify): Promise<Proved> {
  const keys = parseKeys(keyTexts);
  if (!keys) return { problem: "key" };
  const { receipt } = shown;
  const leaf = leafHash(shown.record);
  const claimed = fromBase64(receipt.leaf);
  if (!claimed || !equal(leaf, claimed)) return { problem: "leaf", leaf };
  const record = parseRecord(shown.record);
  if (!record || record.log !== receipt.log || record.index !== receipt.index) return { problem: "record", leaf };
  const checkpoint = await openCheckpoint(receipt.checkpoint, keys, by);
  if (!checkpoint) return { problem: "signature", leaf };
  if (checkpoint.log !== receipt.log || checkpoint.epoch !== receipt.epoch) return { problem: "origin", leaf };
  const way = climbTo(receipt, leaf, checkpoint);
  if (!way) return { problem: "path", leaf, checkpoint };
  const proved = { leaf, checkpoint, levels: way.levels };
  if (shown.payload === undefined) return proved;
  const salt = fromHex(shown.salt ?? "");
  if (salt?.length !== 32 || sealOf(salt, shown.payload) !== record.payload) return { ...proved, problem: "payload" };
  return { ...proved, sealed: true };
}

function climbTo(receipt: Shown["receipt"], leaf: Bytes, { size, root }: Checkpoint) {
  const proof = hashesOf(receipt.proof ?? []);
  const way = proof && climb(leaf, receipt.index, size, proof);
  return way && equal(way.root, root) ? way : undefined;
}

/** hashesOf reads the hashes of a proof; undefined: one is none. */
export function hashesOf(texts: string[]): Bytes[] | undefined {
  const hashes = texts.map(fromBase64);
  return hashes.every((hash) => hash !== undefined) ? hashes : undefined;
}

/** compare checks that a log begins with what was seen of it; undefined: it does. */
export function compare(seen: Checkpoint, now: Checkpoint, proof: string[]): Problem | undefined {
  if (seen.installation !== now.installation || seen.log !== now.log) return "origin";
  if (seen.epoch > now.epoch) return "shrunk";
  if (seen.size > now.size) return seen.epoch === now.epoch ? "shrunk" : "epoch";
  const hashes = hashesOf(proof);
  if (hashes && isConsistent(seen.size, seen.root, now.size, now.root, hashes)) return undefined;
  return seen.epoch < now.epoch ? "epoch" : "rewritten";
}

/** openSeen opens the checkpoint that was seen; "key": it is signed by none of the keys. */
export async function openSeen(signed: string, keys: Key[], by: Verify = verify): Promise<Checkpoint | "key"> {
  return (await openCheckpoint(signed, keys, by)) ?? "key";
}
