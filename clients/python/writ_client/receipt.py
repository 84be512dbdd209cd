"""Verifies receipts without the server: docs/audit-log-format.md says how."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import ed25519


#: What each problem is, in words.
_WORDS = {
    "key": "a key is none, or none was given",
    "receipt": "it does not have the form of a receipt",
    "leaf": "the record is not the one that the receipt is about: it does not hash to the leaf",
    "record": "the record is of another entry than the receipt says",
    "signature": "none of the keys signed the checkpoint",
    "origin": "the checkpoint is of another log or epoch than the receipt says",
    "path": "the leaf and the proof do not lead to the root of the checkpoint",
    "payload": "payload and salt are not those that the record commits to",
}


class NotVerified(Exception):
    """Says which check of a receipt failed: in words, and for programs as problem.

    problem is key, receipt, leaf, record, signature, origin, path or payload.
    """

    def __init__(self, problem: str, words: Optional[str] = None) -> None:
        super().__init__(f"the receipt is not verified: {words or _WORDS.get(problem, problem)} ({problem})")
        self.problem = problem


class Verified(NamedTuple):
    """What a receipt proves: the entry of this number is in this log of this installation, which had size entries."""

    installation: str
    log: str
    epoch: int
    index: int
    size: int
    #: The record, where it was given: who, what, when, and the verdict.
    record: Optional[Dict[str, Any]]


class _Key(NamedTuple):
    name: str
    id: bytes
    key: bytes


class _Checkpoint(NamedTuple):
    installation: str
    log: str
    epoch: int
    size: int
    root: bytes


def verify_receipt(
    receipt: Mapping[str, Any],
    keys: Sequence[str],
    *,
    record: Optional[str] = None,
    payload: Optional[str] = None,
    salt: Optional[str] = None,
) -> Verified:
    """Checks a receipt with keys that the caller trusts (GET /audit-log/key, asked once and kept).

    keys is a list of them, or one text with a key on each line, as `writ audit key` prints them.
    With a record, as the log or an export has it, also that the receipt is about it; with its payload and salt, that
    these are the record's. It raises NotVerified.
    """
    trusted = _keys(keys)
    if not _is_receipt(receipt):
        raise NotVerified("receipt")
    leaf = _from_base64(receipt["leaf"])
    about = None if record is None else _record(receipt, record, leaf)
    checkpoint = _open(receipt["checkpoint"], trusted)
    if checkpoint is None:
        raise NotVerified("signature")
    if (checkpoint.log, checkpoint.epoch) != (receipt["log"], receipt["epoch"]):
        raise NotVerified("origin")
    if leaf is None or len(leaf) != 32 or not _leads_to(checkpoint, receipt, leaf):
        raise NotVerified("path")
    if payload is not None:
        _check_payload(about, payload, salt)
    return Verified(
        checkpoint.installation, checkpoint.log, checkpoint.epoch, receipt["index"], checkpoint.size, about
    )


def _is_receipt(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    texts = [value.get(name) for name in ("log", "leaf", "checkpoint")]
    numbers = [value.get(name) for name in ("epoch", "index")]
    proof = value.get("proof")
    return (
        all(isinstance(text, str) for text in texts)
        and all(type(number) is int and number >= 0 for number in numbers)
        and (proof is None or isinstance(proof, list) and all(isinstance(text, str) for text in proof))
    )


def _from_base64(text: str) -> Optional[bytes]:
    """Reads base64 in its one spelling; None: it is none."""
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if base64.b64encode(value).decode() == text else None


def _keys(given: Optional[Sequence[str]]) -> List[_Key]:
    """The keys of a list, or of the lines of a text; those that are empty, or begin with #, are none."""
    texts = [given] if isinstance(given, str) else given or []
    lines = [line.strip() for text in texts for line in str(text).strip().split("\n")]
    keys = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        key = _key(line)
        if key is None:
            raise NotVerified("key", f"key {number} is no key as `writ audit key` prints it")
        keys.append(key)
    if not keys:
        raise NotVerified("key", "no key was given")
    return keys


def _key(text: str) -> Optional[_Key]:
    """Reads a key in its one spelling; None: it is none."""
    match = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)", text)
    raw = _from_base64(match.group(3)) if match else None
    if match is None or raw is None or len(raw) != 33 or raw[0] != 1:
        return None
    name = match.group(1)
    key_id = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    return _Key(name, key_id, raw[1:]) if key_id.hex() == match.group(2) else None


def _record(receipt: Mapping[str, Any], record: str, leaf: Optional[bytes]) -> Dict[str, Any]:
    if hashlib.sha256(b"\0" + record.encode()).digest() != leaf:
        raise NotVerified("leaf")
    try:
        value = json.loads(record)
    except ValueError:
        raise NotVerified("record") from None
    if not isinstance(value, dict) or value.get("v") != 1:
        raise NotVerified("record")
    if (value.get("log"), value.get("index")) != (receipt["log"], receipt["index"]):
        raise NotVerified("record")
    return value


def _check_payload(record: Optional[Mapping[str, Any]], payload: str, salt: Optional[str]) -> None:
    if record is None:
        raise NotVerified("payload", "a payload is checked against its record: give that too")
    if re.fullmatch(r"[0-9a-f]{64}", salt or "") is None:
        raise NotVerified("payload", "salt is not that of an entry, which has 64 hexadecimal digits")
    seal = hmac.new(bytes.fromhex(salt or ""), payload.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(seal, str(record.get("payload"))):
        raise NotVerified("payload")


_ORIGIN = re.compile(r"writ/([A-Za-z0-9_.-]+)/log/([A-Za-z0-9_.-]+)/epoch/(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_SIGNATURE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)")


def _open(signed: str, keys: Sequence[_Key]) -> Optional[_Checkpoint]:
    """The checkpoint of a signed note; None: no key of its installation signed it, or it is not in its form."""
    text, gap, below = signed.rpartition("\n\n")
    checkpoint, signatures = _checkpoint(text), _signatures(below)
    if not gap or checkpoint is None or signatures is None:
        return None
    ours = False
    for name, raw in signatures:
        key = next((key for key in keys if key.name == name and key.id == raw[:4]), None)
        if key is None:
            continue  # of a witness, or of nobody we know
        if len(raw) != 68 or not ed25519.verify(key.key, raw[4:], (text + "\n").encode()):
            return None
        ours = ours or name == f"writ/{checkpoint.installation}"
    return checkpoint if ours else None


def _checkpoint(text: str) -> Optional[_Checkpoint]:
    lines = text.split("\n")
    origin = _ORIGIN.fullmatch(lines[0])
    if len(lines) != 3 or origin is None or _NUMBER.fullmatch(lines[1]) is None:
        return None
    root = _from_base64(lines[2])
    if root is None or len(root) != 32 or max(len(origin.group(3)), len(lines[1])) > 16:
        return None
    return _Checkpoint(origin.group(1), origin.group(2), int(origin.group(3)), int(lines[1]), root)


def _signatures(text: str) -> Optional[List[Tuple[str, bytes]]]:
    if not text.endswith("\n"):
        return None
    signatures = []
    for line in text[:-1].split("\n"):
        match = _SIGNATURE.fullmatch(line)
        raw = _from_base64(match.group(2)) if match else None
        if match is None or raw is None or len(raw) < 5 or len(signatures) == 100:
            return None
        signatures.append((match.group(1), raw))
    return signatures


def _leads_to(checkpoint: _Checkpoint, receipt: Mapping[str, Any], leaf: bytes) -> bool:
    """Folds a leaf with its proof (RFC 9162, section 2.1.3.2) and compares the root."""
    at, last, folded = receipt["index"], checkpoint.size - 1, leaf
    if at > last:
        return False
    for text in receipt["proof"] or []:
        beside = _from_base64(text)
        if beside is None or len(beside) != 32 or last == 0:
            return False
        if at & 1 or at == last:
            folded = hashlib.sha256(b"\1" + beside + folded).digest()
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            folded = hashlib.sha256(b"\1" + folded + beside).digest()
        at, last = at >> 1, last >> 1
    return last == 0 and folded == checkpoint.root
