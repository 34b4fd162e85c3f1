"""HTTP to one server: keys, repeats after lost connections, answers as objects, refusals as exceptions.

Every call that changes something carries an Idempotency-Key. A repeat carries the same key, so the service does the
work and charges for it once.
"""
from __future__ import annotations

import http.client
import json
import math
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import warnings
from typing import Any, BinaryIO, Mapping, Optional, Union

from .errors import ConnectionLost, Problem, StorageFull, TacetError, problem_from

__all__ = ["Secret", "Transport", "fresh_key"]

Body = Union[None, bytes, BinaryIO]
_TRANSIENT = (408, 425, 429, 502, 503, 504)
_TOKEN = re.compile(r"[!-~]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Secret(str):
    """A text, for instance a token, that its repr does not show. ``str(secret)`` is the text."""

    def __repr__(self) -> str:
        return "<secret>"


def fresh_key() -> str:
    """A UUID of version 7: a key that names its time, as a server may require that keeps answers for some days only."""
    raw = bytearray(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
    raw[6], raw[8] = 0x70 | raw[6] & 15, 0x80 | raw[8] & 63
    return str(uuid.UUID(bytes=bytes(raw)))


def not_finite(value: Any, place: str = "") -> str:
    """A sentence about the first number in VALUE that JSON cannot say; "" where there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place} is {value}, and each number must be finite (places count from 0)."
    if isinstance(value, Mapping):
        return next(filter(None, (not_finite(part, f"{place}.{name}".lstrip(".")) for name, part in value.items())), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, (not_finite(part, f"{place}[{at}]") for at, part in enumerate(value))), "")
    return ""


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A request holds numbers, texts, lists and dictionaries, and no {type(value).__name__}.")


def to_json(value: Any, **how: Any) -> bytes:
    """What is sent. A number that JSON cannot say is an error that names its place."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain, **how).encode()
    except ValueError as error:
        raise ValueError(not_finite(value) or str(error)) from None


def _hide_tokens(document: dict[str, Any]) -> dict[str, Any]:
    if isinstance(document.get("token"), str):
        document["token"] = Secret(document["token"])
    return document


class Transport:
    """One server and one token. It may be shared by threads: each has a connection of its own."""

    def __init__(self, url: str, token: Optional[str], patience: float = 300, timeout: float = 60,
                 ca: Optional[str] = None, certificate: Optional[tuple[str, str]] = None) -> None:
        """``patience``: seconds for which a call is repeated, from its first failure on. ``timeout``: seconds of silence after which a
        connection counts as lost. ``ca``: a file of authorities to trust. ``certificate``: the client's own
        certificate and key, as two files."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ValueError("The address must have the form http://HOST:PORT or https://HOST:PORT, without a user.")
        token = token.strip() if token else None
        if token and not _TOKEN.fullmatch(token):
            raise ValueError("The token has characters that no token has. Copy it again.")
        self.base = parts.path.rstrip("/")
        if self.base.endswith("/v1"):
            raise ValueError("The address is without /v1, which the client adds: http://HOST:PORT.")
        self.server = f"{parts.scheme}://{parts.netloc}"
        self.patience, self.timeout = patience, timeout
        self._host, self._port = parts.hostname, parts.port
        self._authorization = Secret(f"Bearer {token}") if token else None
        self._tls: Optional[ssl.SSLContext] = None
        self._local = threading.local()
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=ca)
            if certificate:
                self._tls.load_cert_chain(*certificate)
        elif token and parts.hostname not in _LOCAL:
            warnings.warn("The token travels in clear text: use https.", stacklevel=3)

    def __repr__(self) -> str:
        return f"<Transport {self.server}>"

    def call(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None, body: Any = None,
             raw: Body = None, headers: Optional[Mapping[str, Any]] = None, key: Optional[str] = None,
             want: str = "json") -> Any:
        """The answer: an object, or bytes where ``want`` is "bytes".

        ``raw`` is sent as it is, ``body`` as JSON. The call is repeated under the same key while connections are
        lost and while the server says 429 or 503, for ``patience`` seconds after the first of that.
        """
        target = self.base + path
        filled = {name: value for name, value in (query or {}).items() if value is not None}
        if filled:
            target += "?" + urllib.parse.urlencode(filled)
        sent = {name: str(value) for name, value in (headers or {}).items() if value is not None}
        if key is not None:
            sent["Idempotency-Key"] = key
        if body is not None:
            raw = to_json(body)
            sent["Content-Type"] = "application/json"
        if self._authorization:
            sent["Authorization"] = self._authorization
        return self._repeat(method, target, raw, sent, key, want)

    def _repeat(self, method: str, target: str, raw: Body, headers: dict[str, str], key: Optional[str], want: str) -> Any:
        end, pause, lost = math.inf, 0.1, False
        failure: TacetError
        while True:
            try:
                status, said, content = self._once(method, target, raw, headers)
                if status < 300:
                    return _content(content, said, want)
                problem = _problem(status, said, content)
                problem.key = key
                if method == "DELETE" and status == 404 and lost:
                    problem.detail += " An earlier try, whose answer was lost, may have deleted it."
                if status not in _TRANSIENT or isinstance(problem, StorageFull):
                    raise problem
                wait, failure = max(problem.retry_after or 0, 0 if status == 429 else pause), problem
            except (OSError, http.client.HTTPException, EOFError) as error:
                self.close()
                if isinstance(error, (ssl.SSLCertVerificationError, socket.gaierror)):
                    raise ConnectionLost(f"No connection to {self.server}: {error}", key) from None
                lost, wait = True, pause
                failure = ConnectionLost(f"No answer from {self.server} to {method} {target}: {type(error).__name__}."
                                         + (f" The call's key is {key}." if key else ""), key)
            end = min(end, time.monotonic() + self.patience)  # a first try that took long leaves time for others
            if time.monotonic() + wait > end:
                raise failure from None
            time.sleep(wait)
            pause = min(2 * pause, 5)

    def _once(self, method: str, target: str, raw: Body, headers: Mapping[str, str]) -> tuple[int, Any, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._open()
        size = None
        if raw is not None and not isinstance(raw, bytes):
            size = raw.seek(0, os.SEEK_END)
            raw.seek(0)
        length = {} if size is None else {"Content-Length": str(size)}
        connection.request(method, target, body=raw, headers={**headers, **length})
        answer = connection.getresponse()
        content = answer.read()
        if answer.will_close:
            self.close()
        return answer.status, answer.headers, content

    def _open(self) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self.timeout, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)

    def close(self) -> None:
        """Closes this thread's connection; the next call opens another."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()


def _content(content: bytes, headers: Any, want: str) -> Any:
    if want == "bytes":
        return content
    if not content:
        return None
    if "json" not in headers.get("Content-Type", ""):
        return content.decode()
    try:
        return json.loads(content, object_hook=_hide_tokens)
    except ValueError:
        raise EOFError("half an answer") from None


def _problem(status: int, headers: Any, content: bytes) -> Problem:
    try:
        document = json.loads(content)
        if not isinstance(document, dict):
            raise ValueError
    except ValueError:
        to = f": the address is {headers['Location']}" if headers.get("Location") else ""
        document = {"status": status, "detail": f"The server, or a proxy before it, answered with status {status}{to}."}
    try:
        retry_after: Optional[float] = float(headers["Retry-After"])
    except (KeyError, TypeError, ValueError):
        retry_after = None
    return problem_from({"status": status, **document}, retry_after)
