// The whole proof of an entry, with what this browser remembers of the log: the keys
// that it trusted first, and the newest checkpoint that it saw.
import { checkEntry, compare, openSeen, type Problem, type Proved, type Shown } from "./check";
import { type Checkpoint, openCheckpoint, parseKey, parseKeys } from "./note";

/** Pin is what a browser remembers of a log. */
export interface Pin {
  /** The keys that were trusted when the log was first seen, or that a person gave. */
  keys: string[];
  trustedAt: string;
  /** The newest checkpoint, as it was signed. */
  checkpoint: string;
  seenAt: string;
}

/** Memory keeps pins: the browser's storage, or nothing. */
export type Memory = Pick<Storage, "getItem" | "setItem">;

/** Server gives what a proof needs. */
export interface Server {
  entry(): Promise<Shown>;
  /** The key that signs now first. */
  keys(): Promise<string[]>;
  consistency(from: number, size: number): Promise<string[]>;
}

/** LogServer gives what the proof of a whole log needs. */
export interface LogServer extends Pick<Server, "keys" | "consistency"> {
  checkpoint(): Promise<string>;
}

/** Seen is what was remembered before this proof. */
export interface Seen {
  epoch: number;
  size: number;
  at: string;
}

/** Met is how what the server shows meets what is remembered. */
export interface Met {
  /** The key that the server signs with now. */
  key: string;
  /** The checkpoint as it is signed. */
  signed: string;
  problem?: Problem | undefined;
  /** Whether the server signs with a key that is not one of the pinned. */
  otherKey: boolean;
  trustedAt?: string | undefined;
  seen?: Seen | undefined;
  /** Whether the checkpoint is kept for the next time. */
  kept: boolean;
}

/** Outcome is the proof of an entry. */
export interface Outcome extends Met {
  shown: Shown;
  proved: Proved;
}

/** LogOutcome is the proof of a log as a whole. */
export interface LogOutcome extends Met {
  checkpoint?: Checkpoint | undefined;
}

const nameOf = (log: string) => `writ.log.${log}`;

/** readPin is what is remembered of a log; undefined: nothing, or nothing that can be read. */
export function readPin(memory: Memory, log: string): Pin | undefined {
  try {
    const pin = JSON.parse(memory.getItem(nameOf(log)) ?? "null") as Pin | null;
    const texts = [pin?.checkpoint, pin?.seenAt, pin?.trustedAt, ...(pin?.keys ?? [undefined])];
    return pin && texts.every((text) => typeof text === "string") ? pin : undefined;
  } catch {
    return undefined;
  }
}

function writePin(memory: Memory, log: string, pin: Pin): boolean {
  try {
    memory.setItem(nameOf(log), JSON.stringify(pin));
    return true;
  } catch {
    return false; // without storage every visit is the first
  }
}

/** prove checks an entry of a log, and remembers the checkpoint if all is well. */
export async function prove(log: string, index: number, server: Server, memory: Memory, now: Date): Promise<Outcome> {
  // Read before anything is asked: what comes is then at least as new.
  const pin = readPin(memory, log);
  const [shown, current] = await Promise.all([server.entry(), server.keys()]);
  const checked = await checkEntry(shown, pin?.keys ?? current);
  // An entry that was not asked for proves nothing here, and its checkpoint is not kept.
  const asked = shown.receipt.index === index;
  const proved: Proved = checked.problem || asked ? checked : { ...checked, problem: "origin" };
  const met = await meet(log, { pin, current, signed: shown.receipt.checkpoint, proved }, server, memory, now);
  return { ...met, shown, proved };
}

/** proveLog checks the newest checkpoint of a log, and remembers it if all is well. */
export async function proveLog(log: string, server: LogServer, memory: Memory, now: Date): Promise<LogOutcome> {
  const pin = readPin(memory, log);
  const [signed, current] = await Promise.all([server.checkpoint(), server.keys()]);
  const keys = parseKeys(pin?.keys ?? current);
  const checkpoint = keys && (await openCheckpoint(signed, keys));
  const proved: Proved = checkpoint ? { checkpoint } : { problem: keys ? "signature" : "key" };
  return { ...(await meet(log, { pin, current, signed, proved }, server, memory, now)), checkpoint };
}

interface Meeting {
  pin: Pin | undefined;
  current: string[];
  signed: string;
  proved: Proved;
}

// meet compares what was just checked with what is remembered, and remembers it.
async function meet(
  log: string,
  { pin, current, signed, proved }: Meeting,
  server: Pick<Server, "consistency">,
  memory: Memory,
  now: Date,
): Promise<Met> {
  const key = current[0] ?? "";
  const otherKey = pin !== undefined && !pin.keys.includes(key);
  const seen = pin && (await seenOf(pin));
  const met = { key, signed, otherKey, trustedAt: pin?.trustedAt, seen: seen?.seen, kept: false };
  if (otherKey) return { ...met, problem: "key" };
  if (proved.problem) return { ...met, problem: proved.problem };
  const { checkpoint } = proved;
  if (checkpoint?.log !== log) return { ...met, problem: "origin" };
  const problem = seen && (await differs(seen.checkpoint, checkpoint, server));
  if (problem) return { ...met, problem };
  const fresh = { keys: pin?.keys ?? current, checkpoint: signed, at: now.toISOString() };
  return { ...met, kept: remember(memory, log, fresh, checkpoint) };
}

async function seenOf(pin: Pin): Promise<{ checkpoint: Checkpoint | "key"; seen?: Seen }> {
  const checkpoint = await openSeen(pin.checkpoint, parseKeys(pin.keys) ?? []);
  if (checkpoint === "key") return { checkpoint };
  return { checkpoint, seen: { epoch: checkpoint.epoch, size: checkpoint.size, at: pin.seenAt } };
}

async function differs(
  seen: Checkpoint | "key",
  now: Checkpoint,
  server: Pick<Server, "consistency">,
): Promise<Problem | undefined> {
  if (seen === "key") return "key";
  const asks = seen.size > 0 && seen.size < now.size;
  return compare(seen, now, asks ? await server.consistency(seen.size, now.size) : []);
}

// Another tab may have seen more meanwhile: a pin never goes back.
function remember(
  memory: Memory,
  log: string,
  fresh: { keys: string[]; checkpoint: string; at: string },
  now: Checkpoint,
): boolean {
  const pin = readPin(memory, log);
  const [, epoch, size] = /\/epoch\/(\d+)\n(\d+)\n/.exec(pin?.checkpoint ?? "") ?? [];
  if (pin && (Number(epoch) > now.epoch || (Number(epoch) === now.epoch && Number(size) > now.size))) return true;
  return writePin(memory, log, {
    keys: pin?.keys ?? fresh.keys,
    trustedAt: pin?.trustedAt ?? fresh.at,
    checkpoint: fresh.checkpoint,
    seenAt: fresh.at,
  });
}

/** trustKey adds a key that a person got from the operator. It must be of the installation that was seen. */
export function trustKey(memory: Memory, log: string, text: string): boolean {
  const pin = readPin(memory, log);
  const key = parseKey(text.trim());
  const known = pin && parseKeys(pin.keys);
  if (!pin || !key || !known?.some((k) => k.name === key.name)) return false;
  return writePin(memory, log, { ...pin, keys: [...new Set([...pin.keys, key.text])] });
}

/** beginAgain replaces what was seen after a restore that lost some of it. The keys stay. */
export async function beginAgain(memory: Memory, log: string, signed: string, now: Date): Promise<boolean> {
  const pin = readPin(memory, log);
  const checkpoint = pin && (await openCheckpoint(signed, parseKeys(pin.keys) ?? []));
  const before = pin && (await seenOf(pin)).seen;
  // Only a new epoch admits that entries are gone.
  if (!pin || !checkpoint || !before || checkpoint.epoch <= before.epoch || checkpoint.log !== log) return false;
  return writePin(memory, log, { ...pin, checkpoint: signed, seenAt: now.toISOString() });
}
