"""One request to the server.

Redirects are not followed, because a key must not go elsewhere; an answer has an end in size and time.
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, NamedTuple, Optional

from .denied import Failed

_MAX_ANSWER = 8 << 20
_LARGE = 1 << 20


class Connection(NamedTuple):
    url: str
    api_key: str
    timeout: float  # seconds


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)
#: A proxy of the environment (HTTP_PROXY) is of no use for this machine's own addresses, and must not get the key.
_direct = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def _is_here(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def ask(to: Connection, path: str, body: Optional[Dict[str, Any]] = None, longer: float = 0) -> Dict[str, Any]:
    """Sends a request and gives the JSON object that a success has; everything else is Failed."""
    what = path.split("?")[0]
    headers = {"x-api-key": to.api_key, "Accept": "application/json", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    request = urllib.request.Request(to.url + path, data, headers)
    timeout = to.timeout + longer
    end = time.monotonic() + timeout
    opener = _direct if _is_here(to.url) else _opener
    try:
        try:
            with opener.open(request, timeout=timeout) as answer:
                status, text = answer.status, _read(answer, end)
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, _read(error, end)
    except Failed:
        raise
    except Exception as error:  # of the connection, of HTTP: urllib passes on those of many modules
        # A server ends the connection of a request that is too large, often before its answer can be read.
        size = f"; the request has {len(data)} bytes, which may be too much" if data and len(data) > _LARGE else ""
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        hint = "; does the server speak http?" if _is_no_tls(reason) else ""
        raise Failed(f"{what}: the server at {_shown(to.url)} did not answer: {reason}{hint}{size}") from error
    value = _object(text)
    if not 200 <= status < 300:
        said = _said(status, value)
        # "no such approval request" is about what was asked for, and not about the address.
        elsewhere = value is not None and status in (404, 405) and not said.startswith("no such ")
        hint = ": is url the address of the server, without a path?" if elsewhere else ""
        raise Failed(f"{what}: {said} ({status}){hint}", status)
    if value is None:
        raise Failed(f"{what}: the answer is no JSON object: is url the address of a Writ server?", status)
    return value


def _is_no_tls(reason: Any) -> bool:
    """Whether what came is no TLS at all, as from a server that speaks http; OpenSSL has had two names for it."""
    return isinstance(reason, ssl.SSLError) and reason.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _said(status: int, value: Optional[Dict[str, Any]]) -> str:
    """What an answer that is no success says, or what it seems to be."""
    if 300 <= status < 400:
        return "the answer is a redirect, which is not followed: give the server's own address as url"
    if value is None:
        return "this is no answer of a Writ server: is url its address, and is no proxy between?"
    said = value.get("message")
    return said if isinstance(said, str) else "no reason given"


def _read(answer: Any, end: float) -> bytes:
    parts, size = [], 0
    while True:
        # One read of the socket at a time: the timeout of urllib counts anew for each.
        part = answer.read1(65536)
        if not part:
            # An answer that ends before its length is none.
            if getattr(answer, "length", 0):
                raise Failed("the answer was cut off")
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > _MAX_ANSWER:
            raise Failed("the answer is too long")
        if time.monotonic() > end:
            raise Failed("the answer took too long")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _object(text: bytes) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
