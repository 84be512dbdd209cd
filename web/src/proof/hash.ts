// Hashes of RFC 6962, and signatures. SHA-256 is computed here in any case: plain HTTP
// off localhost has no WebCrypto.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 as digest, sha512 } from "@noble/hashes/sha2.js";
import { type Bytes, concat, hexOf, utf8 } from "./bytes";

export const sha256 = (...parts: Uint8Array[]): Bytes => new Uint8Array(digest(concat(...parts)));

/** leafHash is the leaf of a record, byte for byte. */
export const leafHash = (record: string): Bytes => sha256(Uint8Array.of(0), utf8(record));

export const nodeHash = (left: Uint8Array, right: Uint8Array): Bytes => sha256(Uint8Array.of(1), left, right);

/** sealOf is what a record says of its payload: HMAC-SHA-256 under the salt, in hex. */
export const sealOf = (salt: Uint8Array, payload: string): string => hexOf(hmac(digest, salt, utf8(payload)));

export type Verify = (key: Bytes, signature: Bytes, message: Bytes) => Promise<boolean>;

/** verifyByBrowser checks an Ed25519 signature with WebCrypto; it fails where that has none. */
export const verifyByBrowser: Verify = async (key, signature, message) => {
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
};

/** verifyByScript does the same in JavaScript, strictly as RFC 8032. */
export const verifyByScript: Verify = async (key, signature, message) => {
  const ed = await import("@noble/ed25519");
  ed.hashes.sha512 = sha512;
  try {
    return ed.verify(signature, message, key, { zip215: false });
  } catch {
    return false; // no point of the curve, or another length
  }
};

/** verify checks an Ed25519 signature wherever the page runs. */
export const verify: Verify = async (key, signature, message) => {
  if (globalThis.crypto?.subtle) {
    try {
      return await verifyByBrowser(key, signature, message);
    } catch {
      // This browser has no Ed25519, or refuses the key: the script decides.
    }
  }
  return verifyByScript(key, signature, message);
};
