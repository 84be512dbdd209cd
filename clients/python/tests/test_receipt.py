"""Receipts that the server's own code made, good and forged, and the signatures of RFC 8032."""

import json
import unittest
from pathlib import Path

from writ_client import NotVerified, ed25519, verify_receipt

VECTORS = json.loads(
    (Path(__file__).parents[3] / "internal/audit/ledger/testdata/vectors.json").read_text(encoding="utf-8")
)
# What is wrong with these is what was seen before them: by itself, their receipt is good.
LATER = ("shrunk", "rewritten", "epoch")


def is_good(vector):
    return vector["problem"] in ("", *LATER) or "a checkpoint seen" in vector["name"]


def verify(vector):
    shown = {name: vector.get(name) for name in ("record", "payload", "salt")}
    return verify_receipt(vector["receipt"], vector["keys"], **shown)


class ReceiptTest(unittest.TestCase):
    def test_vectors(self):
        self.assertGreater(len(VECTORS), 100)
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                if is_good(vector):
                    verified = verify(vector)
                    self.assertEqual(verified.index, vector["receipt"]["index"])
                    self.assertEqual(verified.record, json.loads(vector["record"]))
                    continue
                with self.assertRaises(NotVerified) as caught:
                    verify(vector)
                # A record that is spelled otherwise is found by its leaf, which is in no tree.
                problems = ("record", "path") if vector["problem"] == "record" else (vector["problem"],)
                self.assertIn(caught.exception.problem, problems)

    def test_without_a_record(self):
        receipt, keys = VECTORS[0]["receipt"], VECTORS[0]["keys"]
        self.assertEqual(verify_receipt(receipt, keys).size, 1)
        changes = (
            {"index": 1}, {"index": -1}, {"index": "0"}, {"index": False}, {"log": "org-2"}, {"epoch": 1},
            {"leaf": receipt["leaf"].replace("V", "W")}, {"proof": [receipt["leaf"]]},
            {"checkpoint": receipt["checkpoint"].replace("\n1\n", "\n2\n")},
        )
        for forged in [{**receipt, **change} for change in changes] + [{}, None]:
            with self.subTest(str(forged)):
                self.assertRaises(NotVerified, verify_receipt, forged, keys)

    def test_keys_as_files_have_them(self):
        receipt, (key,) = VECTORS[0]["receipt"], VECTORS[0]["keys"]
        for keys in (key, f"{key}\n", f"# ours\r\n{key}\r\n\r\n", [f"{key}\n"], [f" {key}", ""], [f"{key}\n{key}\n"]):
            with self.subTest(str(keys)):
                self.assertEqual(verify_receipt(receipt, keys).size, 1)

    def test_keys_that_are_none(self):
        receipt, (key,) = VECTORS[0]["receipt"], VECTORS[0]["keys"]
        for keys, words in (
            ([], "no key was given"),
            (None, "no key was given"),
            ("", "no key was given"),
            (["", "\n"], "no key was given"),
            ([f"{key}\n", key[:-1]], "key 2 is no key as `writ audit key` prints it"),
            (["", "no key", key], "key 2 is no key"),
            (f"{key}\nno key\n", "key 2 is no key"),
            ([None, key], "key 1 is no key"),
        ):
            with self.subTest(str(keys)), self.assertRaisesRegex(NotVerified, words) as caught:
                verify_receipt(receipt, keys)
            self.assertEqual(caught.exception.problem, "key")

    def test_problems_are_said_in_words(self):
        told = set()
        for vector in VECTORS:
            try:
                verify(vector)
            except NotVerified as error:
                self.assertRegex(str(error), rf"^the receipt is not verified: .* .* \({error.problem}\)$")
                told.add(error.problem)
        self.assertLessEqual({"key", "leaf", "origin", "path", "payload", "signature"}, told)
        with self.assertRaisesRegex(NotVerified, "it does not have the form of a receipt"):
            verify_receipt({}, VECTORS[0]["keys"])
        receipt, keys, record = (VECTORS[0][name] for name in ("receipt", "keys", "record"))
        with self.assertRaisesRegex(NotVerified, r"against its record: give that too \(payload\)"):
            verify_receipt(receipt, keys, payload="{}", salt="0" * 64)
        with self.assertRaisesRegex(NotVerified, r"salt is not that of an entry.*\(payload\)"):
            verify_receipt(receipt, keys, record=record, payload="{}")


# Section 7.1: key, message, signature.
RFC = (
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
     "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
)  # fmt: skip
ORDER = 2**252 + 27742317777372353535851937790883648493


class SignatureTest(unittest.TestCase):
    def test_rfc_8032(self):
        for key, message, signature in (map(bytes.fromhex, vector) for vector in RFC):
            self.assertTrue(ed25519.verify(key, signature, message))
            self.assertFalse(ed25519.verify(key, signature, message + b"x"))
            for at in (0, 31, 32, 63):
                changed = bytearray(signature)
                changed[at] ^= 1
                self.assertFalse(ed25519.verify(key, bytes(changed), message))
            self.assertFalse(ed25519.verify(key, signature[:-1], message))
            # The same signature with s + L, which others could make of it.
            s = int.from_bytes(signature[32:], "little") + ORDER
            self.assertFalse(ed25519.verify(key, signature[:32] + s.to_bytes(32, "little"), message))

    def test_keys_that_are_none(self):
        _, message, signature = (bytes.fromhex(part) for part in RFC[0])
        # No point of the curve; y not below p; the wrong length.
        for key in (b"\x02" + bytes(31), b"\xff" * 31 + b"\x7f", bytes(31)):
            self.assertFalse(ed25519.verify(key, signature, message))


if __name__ == "__main__":
    unittest.main()
