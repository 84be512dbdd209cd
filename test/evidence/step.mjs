// A second verifier of the proofs of a plan's steps, written from docs/audit-log-format.md alone.
//
//   node step.mjs < cases.json
//
// reads [{"root", "path", "value", "proof"}], the value in canonical JSON, and prints whether each leads to its root.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

function proves({ root, path, value, proof }) {
  const digest = sha256(value).toString("hex");
  const leaf = sha256(Buffer.from([0]), `{"digest":"${digest}","path":"${path}"}`);
  const top = proof.reduce((hash, { position, sibling_hash: sibling }) => {
    const beside = Buffer.from(sibling, "hex");
    return position === "left" ? sha256(Buffer.from([1]), beside, hash) : sha256(Buffer.from([1]), hash, beside);
  }, leaf);
  return top.toString("hex") === root;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(proves)));
