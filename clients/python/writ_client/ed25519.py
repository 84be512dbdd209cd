"""Verifies Ed25519 signatures (RFC 8032, section 5.1.7) with integers alone.

It only reads public things, so it need not take the same time for all of them. Encodings that are not the one of their
point are refused.
"""

from __future__ import annotations

import hashlib
from typing import Optional, Tuple

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)  # of -1

#: X, Y, Z and T with x = X/Z, y = Y/Z and xy = T/Z.
_Point = Tuple[int, int, int, int]
_ZERO: _Point = (0, 1, 1, 0)


def _add(p: _Point, q: _Point) -> _Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % _P, (p[1] + p[0]) * (q[1] + q[0]) % _P
    c, d = 2 * p[3] * q[3] * _D % _P, 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _multiply(factor: int, p: _Point) -> _Point:
    product = _ZERO
    while factor > 0:
        if factor & 1:
            product = _add(product, p)
        p = _add(p, p)
        factor >>= 1
    return product


def _equal(p: _Point, q: _Point) -> bool:
    return (p[0] * q[2] - q[0] * p[2]) % _P == 0 and (p[1] * q[2] - q[1] * p[2]) % _P == 0


def _x_of(y: int, odd: int) -> Optional[int]:
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _ROOT % _P
    if (x * x - square) % _P != 0 or (x == 0 and odd):
        return None
    return _P - x if x & 1 != odd else x


def _point(encoded: bytes) -> Optional[_Point]:
    y = int.from_bytes(encoded, "little")
    odd, y = y >> 255, y & (1 << 255) - 1
    x = _x_of(y, odd) if y < _P else None
    return None if x is None else (x, y, 1, x * y % _P)


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE = _point(_BASE_Y.to_bytes(32, "little")) or _ZERO


def verify(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a key signed a message."""
    if len(key) != 32 or len(signature) != 64:
        return False
    a, r = _point(key), _point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= _L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % _L
    return _equal(_multiply(s, _BASE), _add(r, _multiply(k, a)))
