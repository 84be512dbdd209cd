// Signed notes (c2sp.org/signed-note) that hold a checkpoint of a log (c2sp.org/tlog-checkpoint).
import { type Bytes, concat, equal, fromBase64, hexOf, utf8 } from "./bytes";
import { sha256, type Verify, verify } from "./hash";

/** Key is a public key: writ/<installation>+<id>+<base64>. */
export interface Key {
  text: string;
  name: string;
  id: Bytes;
  key: Bytes;
}

/** parseKey reads a key in its one spelling; undefined: it is none. */
export function parseKey(text: string): Key | undefined {
  const match = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text);
  const [, name, hash, encoded] = match ?? [];
  const raw = encoded === undefined ? undefined : fromBase64(encoded);
  if (!name || !raw || raw.length !== 33 || raw[0] !== 1) return undefined;
  const id = new Uint8Array(sha256(utf8(`${name}\n`), raw).slice(0, 4));
  return hexOf(id) === hash ? { text, name, id, key: raw.slice(1) } : undefined;
}

/** parseKeys reads keys; undefined: one of them is none, or there is none. */
export function parseKeys(texts: string[]): Key[] | undefined {
  const keys = texts.map(parseKey).filter((key) => key !== undefined);
  return keys.length > 0 && keys.length === texts.length ? keys : undefined;
}

/** Checkpoint says how large a log is and what is in it. */
export interface Checkpoint {
  installation: string;
  log: string;
  epoch: number;
  size: number;
  root: Bytes;
  /** The key that signed it. */
  key: Key;
}

const origin = /^writ\/([\w.-]+)\/log\/([\w.-]+)\/epoch\/(0|[1-9]\d*)$/;

/** openCheckpoint checks a signed checkpoint; undefined: none of the keys signed it, or it is not in its one form. */
export async function openCheckpoint(
  signed: string,
  keys: Key[],
  by: Verify = verify,
): Promise<Checkpoint | undefined> {
  const read = readCheckpoint(signed);
  if (!read) return undefined;
  const name = `writ/${read.installation}`;
  let signer: Key | undefined;
  for (const { name: signedAs, raw } of read.signatures) {
    const key = keys.find((k) => k.name === signedAs && equal(k.id, raw.slice(0, 4)));
    if (!key) continue; // of a witness, or of nobody we know
    if (raw.length !== 68 || !(await by(key.key, raw.slice(4), utf8(read.text)))) return undefined;
    if (signedAs === name) signer = key;
  }
  const { installation, log, epoch, size, root } = read;
  return signer && { installation, log, epoch, size, root, key: signer };
}

/** readCheckpoint takes a checkpoint apart, whoever signed it. */
export function readCheckpoint(signed: string) {
  const end = signed.lastIndexOf("\n\n");
  const text = signed.slice(0, end + 1);
  const lines = text.split("\n");
  const match = origin.exec(lines[0] ?? "");
  if (end < 0 || lines.length !== 4 || !match || !/^(?:0|[1-9]\d*)$/.test(lines[1] ?? "")) return undefined;
  const [, installation = "", log = "", epoch] = match;
  const root = fromBase64(lines[2] ?? "");
  const signatures = signaturesOf(signed.slice(end + 2));
  const read = { text, installation, log, epoch: Number(epoch), size: Number(lines[1]) };
  if (!signatures || root?.length !== 32) return undefined;
  if (!Number.isSafeInteger(read.epoch) || !Number.isSafeInteger(read.size)) return undefined;
  return { ...read, root, signatures };
}

function signaturesOf(text: string) {
  if (!text.endsWith("\n")) return undefined;
  const signatures: { name: string; raw: Bytes }[] = [];
  for (const line of text.slice(0, -1).split("\n")) {
    const [, name, encoded] = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? [];
    const raw = encoded === undefined ? undefined : fromBase64(encoded);
    if (!name || !raw || raw.length < 5 || signatures.length === 100) return undefined;
    signatures.push({ name, raw: concat(raw) });
  }
  return signatures;
}
