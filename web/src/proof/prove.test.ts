import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { beginAgain, type Memory, prove, proveLog, readPin, type Server, trustKey } from "./prove";

interface Vector {
  name: string;
  keys: string[];
  record: string;
  receipt: { log: string; epoch: number; index: number; leaf: string; proof: string[]; checkpoint: string };
  payload?: string;
  salt?: string;
  seen?: string;
  consistency?: string[];
}

const file = new URL("../../../internal/audit/ledger/testdata/vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];
const named = (name: string) => {
  const found = vectors.find((v) => v.name === name);
  if (!found) throw new Error(`no vector is named ${name}`);
  return found;
};

function memoryOf(): Memory & { held: Map<string, string> } {
  const held = new Map<string, string>();
  return { held, getItem: (name) => held.get(name) ?? null, setItem: (name, value) => void held.set(name, value) };
}

const asked: [number, number][] = [];
const serverOf = (v: Vector, keys = v.keys, proof = v.consistency ?? []): Server => ({
  entry: async () => v,
  keys: async () => keys,
  consistency: async (from, size) => {
    asked.push([from, size]);
    return proof;
  },
});

const log = "org-1";
const at = new Date("2026-11-09T12:00:00Z");
const later = new Date("2026-11-10T12:00:00Z");

describe("what a browser remembers", () => {
  let memory: ReturnType<typeof memoryOf>;
  const see = async (name: string, when = at) =>
    prove(log, named(name).receipt.index, serverOf(named(name)), memory, when);
  /** remembered puts what a vector's reader saw before into memory. */
  const remembered = (v: Vector) =>
    memory.setItem(
      `writ.log.${log}`,
      JSON.stringify({
        keys: v.keys,
        trustedAt: at.toISOString(),
        checkpoint: v.seen,
        seenAt: at.toISOString(),
      }),
    );
  beforeEach(() => {
    memory = memoryOf();
    asked.length = 0;
  });

  it("trusts the keys at first, and keeps the checkpoint", async () => {
    const first = await see("entry 6 of 13, seen 7");
    expect(first).toMatchObject({ kept: true, otherKey: false });
    expect(first.problem).toBeUndefined();
    expect(first.seen).toBeUndefined();
    expect(readPin(memory, log)).toMatchObject({ keys: named("entry 6 of 13, seen 7").keys, seenAt: at.toISOString() });
  });

  it("has the server show that the log begins with what was seen", async () => {
    const v = named("entry 6 of 13, seen 7");
    remembered(v);
    const second = await prove(log, 6, serverOf(v), memory, later);
    expect(second.problem).toBeUndefined();
    expect(second.seen).toEqual({ epoch: 0, size: 7, at: at.toISOString() });
    expect(asked).toEqual([[7, 13]]);
    expect(readPin(memory, log)).toMatchObject({
      checkpoint: v.receipt.checkpoint,
      trustedAt: at.toISOString(),
      seenAt: later.toISOString(),
    });
  });

  it.each([
    ["forged: a log that shrank", "shrunk"],
    ["forged: a log that was rewritten", "rewritten"],
    ["forged: a log that was rewritten, in its size", "rewritten"],
    ["forged: no consistency proof", "rewritten"],
    ["a restore that lost what was seen", "epoch"],
    ["an epoch before the one that was seen", "shrunk"],
    ["forged: a checkpoint seen of another log", "origin"],
  ])("alarms at %s, and keeps what it saw", async (name, problem) => {
    const v = named(name);
    remembered(v);
    const outcome = await prove(log, v.receipt.index, serverOf(v), memory, later);
    expect(outcome).toMatchObject({ problem, kept: false });
    expect(readPin(memory, log)?.checkpoint).toBe(v.seen);
  });

  it("alarms at another key, until a person gives the one of the operator", async () => {
    await see("entry 6 of 13, seen 7");
    const v = named("entry 6 of 13, seen 7");
    const forged = named("forged: a checkpoint by another key");
    const rotated = keyOfAnother();
    const outcome = await prove(log, 5, serverOf(forged, [rotated, ...v.keys]), memory, later);
    expect(outcome).toMatchObject({ problem: "key", otherKey: true, kept: false });
    // Not by whatever the server says, and not by a key of another installation.
    expect(readPin(memory, log)?.keys).toEqual(v.keys);
    expect(trustKey(memory, log, "writ/elsewhere+00000000+AAAA")).toBe(false);
    expect(trustKey(memory, log, rotated)).toBe(true);
    const after = await prove(log, 5, serverOf(forged, [rotated, ...v.keys]), memory, later);
    expect(after.problem).toBeUndefined();
  });

  it("alarms at a key that is new even where the old one still signs", async () => {
    await see("entry 6 of 13, seen 7");
    const v = named("entry 6 of 13, seen 7");
    const outcome = await prove(log, 6, serverOf(v, [keyOfAnother(), ...v.keys]), memory, later);
    expect(outcome).toMatchObject({ problem: "key", otherKey: true, kept: false });
  });

  it("begins again only behind a restore", async () => {
    const v = named("a restore that lost what was seen");
    remembered(v);
    expect(await beginAgain(memory, log, named("entry 0 of 3, seen 0").receipt.checkpoint, later)).toBe(false);
    expect(await beginAgain(memory, log, v.receipt.checkpoint, later)).toBe(true);
    const outcome = await prove(log, v.receipt.index, serverOf(v), memory, later);
    expect(outcome.problem).toBeUndefined();
  });

  it("refuses an entry that was not asked for, and the log of another organization", async () => {
    const v = named("entry 6 of 13, seen 7");
    expect((await prove(log, 5, serverOf(v), memory, at)).problem).toBe("origin");
    expect((await prove("org-9", 6, serverOf(v), memory, at)).problem).toBe("origin");
    expect(memory.held.size).toBe(0);
  });

  it("proves a log without an entry", async () => {
    const v = named("entry 6 of 13, seen 7");
    const server = { ...serverOf(v), checkpoint: async () => v.receipt.checkpoint };
    remembered(v);
    const fine = await proveLog(log, server, memory, later);
    expect(fine.problem).toBeUndefined();
    expect(fine.kept).toBe(true);
    const shrunk = { ...server, checkpoint: async () => v.seen ?? "" };
    expect(await proveLog(log, shrunk, memory, later)).toMatchObject({ problem: "shrunk", kept: false });
    const forged = named("forged: a checkpoint by another key").receipt.checkpoint;
    const other = { ...server, checkpoint: async () => forged };
    expect(await proveLog(log, other, memory, later)).toMatchObject({ problem: "signature", kept: false });
    expect(await proveLog("org-9", server, memoryOf(), later)).toMatchObject({ problem: "origin", kept: false });
  });

  it("never goes back behind what another tab saw", async () => {
    const v = named("entry 6 of 13, seen 7");
    const slow = serverOf(v);
    const newer = named("entry 50 of 100, seen 50").receipt.checkpoint;
    slow.consistency = async () => {
      memory.setItem(`writ.log.${log}`, JSON.stringify({ ...readPin(memory, log), checkpoint: newer }));
      return v.consistency ?? [];
    };
    remembered(v);
    await prove(log, 6, slow, memory, later);
    expect(readPin(memory, log)?.checkpoint).toBe(newer);
  });

  it("works without storage, and says that nothing is kept", async () => {
    const none: Memory = {
      getItem: () => {
        throw new Error("no storage");
      },
      setItem: () => {
        throw new Error("no storage");
      },
    };
    const v = named("entry 6 of 13, seen 7");
    const outcome = await prove(log, 6, serverOf(v), none, at);
    expect(outcome.problem).toBeUndefined();
    expect(outcome.kept).toBe(false);
  });
});

/** keyOfAnother is the key that signed "forged: a checkpoint by another key". */
function keyOfAnother(): string {
  return readFileSync(
    new URL("../../../internal/audit/ledger/testdata/another-key.txt", import.meta.url),
    "utf8",
  ).trim();
}
