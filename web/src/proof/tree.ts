// The tree of RFC 6962. Sizes are whole numbers below 2^53; halves are taken by
// arithmetic, because shifts of JavaScript cut at 32 bits.
import { type Bytes, equal } from "./bytes";
import { nodeHash, sha256 } from "./hash";

/** Node is a part of the tree: the entries from..until-1, and their hash. */
export interface Node {
  from: number;
  until: number;
  hash: Bytes;
}

/** Level is a step from the leaf to the root: a node that was computed, and the one beside it that was given. */
export interface Level {
  computed: Node;
  given: Node;
  /** Where the computed one stands. */
  side: "left" | "right";
}

const isSize = (n: number) => Number.isSafeInteger(n) && n >= 0;

// The largest power of two below n.
function split(n: number): number {
  let power = 1;
  while (power * 2 < n) power *= 2;
  return power;
}

/** climb computes the root from a leaf and the hashes beside its way up; undefined: they do not fit the size. */
export function climb(leaf: Bytes, index: number, size: number, proof: Bytes[]) {
  if (!isSize(index) || !isSize(size) || index >= size || proof.some((hash) => hash.length !== 32)) return undefined;
  const levels: Level[] = [];
  const up = (from: number, until: number, count: number): Bytes | undefined => {
    if (until - from === 1) return count === 0 ? leaf : undefined;
    const beside = proof[count - 1];
    if (!beside) return undefined;
    const middle = from + split(until - from);
    const left = index < middle;
    const below = left ? { from, until: middle } : { from: middle, until };
    const other = left ? { from: middle, until } : { from, until: middle };
    const hash = up(below.from, below.until, count - 1);
    if (!hash) return undefined;
    levels.push({ computed: { ...below, hash }, given: { ...other, hash: beside }, side: left ? "left" : "right" });
    return left ? nodeHash(hash, beside) : nodeHash(beside, hash);
  };
  const root = up(0, size, proof.length);
  return root && { root, levels };
}

/** isConsistent reports whether the proof shows that the tree of size entries begins with that of old entries. */
export function isConsistent(old: number, oldRoot: Bytes, size: number, root: Bytes, proof: Bytes[]): boolean {
  if (!isSize(old) || !isSize(size) || old > size || proof.some((hash) => hash.length !== 32)) return false;
  if (old === 0) return proof.length === 0 && equal(oldRoot, sha256());
  const both = (from: number, until: number, count: number): [Bytes, Bytes] | undefined => {
    if (until === old) {
      if (from === 0) return count === 0 ? [oldRoot, oldRoot] : undefined;
      return count === 1 && proof[0] ? [proof[0], proof[0]] : undefined;
    }
    const beside = proof[count - 1];
    if (!beside) return undefined;
    const middle = from + split(until - from);
    const below = old <= middle ? both(from, middle, count - 1) : both(middle, until, count - 1);
    if (!below) return undefined;
    return old <= middle
      ? [below[0], nodeHash(below[1], beside)]
      : [nodeHash(beside, below[0]), nodeHash(beside, below[1])];
  };
  const found = both(0, size, proof.length);
  return found !== undefined && equal(found[0], oldRoot) && equal(found[1], root);
}
