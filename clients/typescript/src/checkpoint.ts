// Signed notes (c2sp.org/signed-note) that hold a checkpoint of a log (c2sp.org/tlog-checkpoint).
import { type Bytes, equal, fromBase64, hexOf, sha256, utf8 } from "./bytes.js";

/** Key is a public key: writ/<installation>+<id>+<base64>. */
export interface Key {
  name: string;
  id: Bytes;
  key: Bytes;
}

/** Checkpoint says how large a log is and what is in it. */
export interface Checkpoint {
  installation: string;
  log: string;
  epoch: number;
  size: number;
  root: Bytes;
}

/** parseKey reads a key in its one spelling; undefined: it is none. */
export async function parseKey(text: string): Promise<Key | undefined> {
  const [, name, hash, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  const raw = encoded === undefined ? undefined : fromBase64(encoded);
  if (!name || !raw || raw.length !== 33 || raw[0] !== 1) return undefined;
  const id = (await sha256(utf8(`${name}\n`), raw)).slice(0, 4);
  return hexOf(id) === hash ? { name, id, key: raw.slice(1) } : undefined;
}

/** openCheckpoint checks a signed checkpoint; undefined: no key of its installation signed it. */
export async function openCheckpoint(signed: string, keys: Key[]): Promise<Checkpoint | undefined> {
  const read = readCheckpoint(signed);
  if (!read) return undefined;
  let ours = false;
  for (const { name, raw } of read.signatures) {
    const key = keys.find((k) => k.name === name && equal(k.id, raw.slice(0, 4)));
    if (!key) continue; // of a witness, or of nobody we know
    if (raw.length !== 68 || !(await isSigned(key.key, raw.slice(4), utf8(read.text)))) return undefined;
    if (name === `writ/${read.checkpoint.installation}`) ours = true;
  }
  return ours ? read.checkpoint : undefined;
}

async function isSigned(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  try {
    const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
  } catch (error) {
    // A key that is no point of the curve signs nothing; a browser without Ed25519 cannot tell.
    if (error instanceof Error && error.name === "NotSupportedError") throw error;
    return false;
  }
}

const origin = /^writ\/([\w.-]+)\/log\/([\w.-]+)\/epoch\/(0|[1-9]\d*)$/;

function readCheckpoint(signed: string) {
  const end = signed.lastIndexOf("\n\n");
  if (end < 0) return undefined;
  const text = signed.slice(0, end + 1);
  const lines = text.split("\n");
  const [, installation, log, epoch] = origin.exec(lines[0] ?? "") ?? [];
  if (lines.length !== 4 || installation === undefined || log === undefined) return undefined;
  if (!/^(?:0|[1-9]\d*)$/.test(lines[1] ?? "")) return undefined;
  const root = fromBase64(lines[2] ?? "");
  const signatures = signaturesOf(signed.slice(end + 2));
  const checkpoint = { installation, log, epoch: Number(epoch), size: Number(lines[1]) };
  if (!signatures || root?.length !== 32) return undefined;
  if (!Number.isSafeInteger(checkpoint.epoch) || !Number.isSafeInteger(checkpoint.size)) return undefined;
  return { text, signatures, checkpoint: { ...checkpoint, root } };
}

function signaturesOf(text: string): { name: string; raw: Bytes }[] | undefined {
  if (!text.endsWith("\n")) return undefined;
  const signatures: { name: string; raw: Bytes }[] = [];
  for (const line of text.slice(0, -1).split("\n")) {
    const [, name, encoded] = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? [];
    const raw = encoded === undefined ? undefined : fromBase64(encoded);
    if (!name || !raw || raw.length < 5 || signatures.length === 100) return undefined;
    signatures.push({ name, raw });
  }
  return signatures;
}
