// A second verifier of audit-log exports, written from docs/audit-log-format.md alone, with nothing but Node's own
// modules. It shares no code with the server.
//
//   node verify.mjs [--key FILE] [--checkpoint FILE] [--witness FILE] EXPORT...
//
// prints one JSON line for each export, {"file", "verified", "trusted", "size", "root", ...} or {"file",
// "verified": false, "problem"}, and exits 1 unless all are verified. Without --key an export is compared with the key in
// itself, and "trusted" is false: whoever made the export may have made the key.
import { createHash, createHmac, createPublicKey, verify as verifySignature } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const leafHash = (record) => sha256(Buffer.from([0]), record);
const nodeHash = (left, right) => sha256(Buffer.from([1]), left, right);
const refuse = (problem) => { throw new Error(problem); };

// Tree is RFC 6962's, kept as the roots of its complete subtrees, the largest first.
class Tree {
  constructor(size = 0, roots = []) { this.size = size; this.roots = roots; }
  add(leaf) {
    let node = leaf;
    for (let n = this.size; n % 2 === 1; n = (n - 1) / 2) node = nodeHash(this.roots.pop(), node);
    this.roots.push(node);
    this.size++;
  }
  root() {
    if (this.roots.length === 0) return sha256("");
    return this.roots.reduceRight((right, left) => nodeHash(left, right));
  }
}

const subtrees = (size) => { let n = 0; for (; size > 0; size = Math.floor(size / 2)) n += size % 2; return n; };

// A key is name+hash+base64(1 || public key), and its hash is of name, line break, 1 and key.
function parseKey(text) {
  const [name, hash, ...rest] = text.split("+");
  const raw = Buffer.from(rest.join("+"), "base64");
  if (raw.length !== 33 || raw[0] !== 1) refuse("not a key of Ed25519");
  const id = sha256(name, "\n", raw).subarray(0, 4);
  if (id.toString("hex") !== hash) refuse("the hash of the key is wrong");
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: raw.subarray(1).toString("base64url") }, format: "jwk",
  });
  return { text, name, id, key };
}

// A checkpoint is three lines, an empty line, and signatures.
function openCheckpoint(text, keys) {
  const end = text.indexOf("\n\n");
  if (end < 0) refuse("the checkpoint has no signature");
  const body = text.slice(0, end + 1);
  const lines = body.split("\n");
  if (lines.length !== 4) refuse("the checkpoint does not have three lines");
  const origin = /^writ\/([\w.-]+)\/log\/([\w.-]+)\/epoch\/(\d+)$/.exec(lines[0]);
  if (!origin || !/^\d+$/.test(lines[1])) refuse("the checkpoint cannot be read");
  const signed = text.slice(end + 2).split("\n").filter(Boolean).some((line) => {
    const [dash, name, encoded] = line.split(" ");
    const raw = Buffer.from(encoded ?? "", "base64");
    return dash === "—" && name === `writ/${origin[1]}` && keys.some((key) => key.name === name &&
      key.id.equals(raw.subarray(0, 4)) && verifySignature(null, Buffer.from(body), key.key, raw.subarray(4)));
  });
  if (!signed) refuse("the checkpoint is not signed with a trusted key");
  return {
    installation: origin[1], log: origin[2], epoch: Number(origin[3]), size: Number(lines[1]),
    root: Buffer.from(lines[2], "base64"),
  };
}

// A line is {"record":R} or {"payload":P,"record":R,"salt":"<64 hex>"}, and its parts are taken as they stand.
function parseLine(text) {
  if (text.startsWith('{"record":')) return { record: text.slice(10, -1) };
  const at = text.lastIndexOf(',"record":{"action":');
  const salt = /,"salt":"([0-9a-f]{64})"\}$/.exec(text);
  if (!text.startsWith('{"payload":') || at < 0 || !salt) refuse("the line cannot be read");
  return { payload: text.slice(11, at), record: text.slice(at + 10, salt.index), salt: Buffer.from(salt[1], "hex") };
}

const aboutLog = new Set(["log.restored", "payload.erased", "payloads.retired"]);

// Missing holds the entries whose payload is gone, until an entry says that it was erased.
class Missing {
  times = new Map();
  account(record, payload) {
    if (record.action === "payload.erased") this.times.delete(Number(record.subject.id));
    if (record.action !== "payloads.retired") return;
    if (record.subject.type === "entries") {
      for (const range of record.subject.id.split(",")) {
        const [first, last = first] = range.split("-").map(Number);
        for (let i = first; i <= last; i++) this.times.delete(i);
      }
      return;
    }
    const before = JSON.parse(payload).before;
    for (const [index, time] of this.times) if (time < before) this.times.delete(index);
  }
}

// Kills follows what the kill switch has stopped, and refuses an allow or a lease behind it.
class Kills {
  active = new Map();
  follow(record, payload) {
    const scope = record.scope;
    const named = scope === "key" ? record.subject.id : scope === "organization" ? "" : record[scope];
    if (record.action === "agent.killed") {
      for (const id of record.stops ?? [`${scope} ${named}`]) {
        this.active.set(id, { scope, named, keys: new Set([...(record.keys ?? []), ...(scope === "key" ? [named] : [])]) });
      }
    }
    if (record.action === "agent.revived") {
      for (const [id, stop] of this.active) {
        const same = stop.scope === scope && stop.named === named;
        if (record.stops?.includes(id) || (same && (!record.stops || id === `${scope} ${named}`))) this.active.delete(id);
      }
    }
    if (record.verdict !== "allow" && record.action !== "agent.leased") return;
    const calls = [record];
    if (record.action === "agent.leased" && payload !== undefined) calls.push(...JSON.parse(payload).tools);
    for (const stop of this.active.values()) {
      if (this.forbids(stop, record, calls)) refuse(`entry ${record.index}: allowed behind a kill`);
    }
  }
  forbids({ scope, named, keys }, record, calls) {
    const fold = (text) => (text ?? "").toLowerCase();
    switch (scope) {
      case "organization": return true;
      case "plan": return record.plan === named || record.under === named;
      case "server": return calls.some((call) => fold(call.server) === fold(named));
      case "tool": return calls.some(({ server, tool }) =>
        tool && (fold(tool) === fold(named) || fold(`${server ?? ""}.${tool}`) === fold(named)));
    }
    return keys.has(record.actor.id) || (scope === "agent" && record.agent === named);
  }
}

function verifyExport(text, trusted, seen) {
  if (!text.endsWith("\n")) refuse("the export ends within a line");
  const lines = text.slice(0, -1).split("\n");
  const header = JSON.parse(lines[0]);
  if (header.v !== 1) refuse("another version");
  const key = parseKey(header.key);
  if (trusted.length > 0 && !trusted.some((t) => t.text === key.text)) refuse("the key is not trusted");
  const target = openCheckpoint(header.checkpoint, [key]);
  if (header.frontier.length !== subtrees(header.from)) refuse("the frontier does not fit");
  const tree = new Tree(header.from, header.frontier.map((hash) => Buffer.from(hash, "base64")));
  if (lines.length - 1 !== target.size - header.from) refuse("the number of entries is not that of the checkpoint");
  const earlier = seen.map((s) => openCheckpoint(s, trusted.length > 0 ? trusted : [key]))
    .filter((c) => c.log === target.log && c.installation === target.installation && c.size >= header.from);
  if (seen.length > 0 && earlier.length === 0) refuse("nothing that was seen is of this log");
  const meet = () => {
    for (const c of earlier) if (c.size === tree.size && !c.met) {
      if (!c.root.equals(tree.root())) refuse("the log is not the one that was seen");
      c.met = true;
    }
  };
  meet();
  const missing = new Missing();
  const kills = new Kills();
  let epoch = header.from === 0 ? 0 : undefined;
  let payloads = 0, erased = 0;
  for (const line of lines.slice(1)) {
    const { record: raw, payload, salt } = parseLine(line);
    const record = JSON.parse(raw);
    if (record.v !== 1 || record.log !== target.log || record.index !== tree.size) refuse("another entry is expected");
    const restored = record.action === "log.restored";
    if (epoch !== undefined && (record.epoch < epoch || (record.epoch > epoch) !== restored)) {
      refuse("an epoch begins without a restore");
    }
    epoch = record.epoch;
    if (payload !== undefined) {
      payloads++;
      const commitment = createHmac("sha256", salt).update(payload).digest("hex");
      if (commitment !== record.payload) refuse(`entry ${record.index}: another payload`);
    } else if (record.payload !== undefined) {
      erased++;
      if (!header.withoutPayloads) {
        if (aboutLog.has(record.action)) refuse(`entry ${record.index}: never erased`);
        missing.times.set(record.index, record.time);
      }
    }
    if (!header.withoutPayloads) missing.account(record, payload);
    kills.follow(record, payload);
    tree.add(leafHash(Buffer.from(raw)));
    meet();
  }
  if (!tree.root().equals(target.root)) refuse("the entries do not give the signed root");
  if (epoch !== undefined && epoch !== target.epoch) refuse("the checkpoint is of another epoch");
  if (earlier.some((c) => !c.met)) refuse("the log has shrunk");
  if (missing.times.size > 0) refuse(`payloads are gone without an erasure: ${[...missing.times.keys()].join(",")}`);
  const counted = header.withoutPayloads ? { withoutPayloads: true } : { payloads, erased };
  return { verified: true, log: target.log, size: target.size, root: target.root.toString("base64"), ...counted };
}

function misuse(problem) {
  console.error(`${problem}; usage: node verify.mjs [--key FILE] [--checkpoint FILE] [--witness FILE] EXPORT...`);
  process.exit(2);
}

function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return misuse(error.message);
  }
}

const options = { key: [], checkpoint: [], witness: [] };
const files = [];
for (let args = process.argv.slice(2); args.length > 0;) {
  const arg = args.shift();
  const option = options[arg.startsWith("--") ? arg.slice(2) : ""];
  if (option && args.length > 0) option.push(readText(args.shift()));
  else if (arg.startsWith("--")) misuse(`${arg} is no option, or its file is missing`);
  else files.push(arg);
}
if (files.length === 0) misuse("no export is named");

// What was given and says nothing, such as a file that a failed command left empty, must not count as not given.
function readKeys(text) {
  const lines = text.split("\n").filter(Boolean);
  if (lines.length === 0) misuse("there is no key in the file of --key");
  try {
    return lines.map(parseKey);
  } catch (error) {
    return misuse(`the file of --key: ${error.message}`);
  }
}

// A line that is not JSON was cut off by a crash.
function readWitness(text) {
  const found = text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line).checkpoint];
    } catch {
      return [];
    }
  });
  if (found.length === 0) misuse("there is no checkpoint in the file of --witness");
  return found;
}

const keys = options.key.flatMap(readKeys);
const seen = [...options.checkpoint, ...options.witness.flatMap(readWitness)];
for (const file of files) {
  let result;
  try {
    result = { ...verifyExport(readFileSync(file, "utf8"), keys, seen), trusted: keys.length > 0 };
  } catch (error) {
    result = { verified: false, problem: error.message };
    process.exitCode = 1;
  }
  console.log(JSON.stringify({ file: basename(file), ...result }));
}
