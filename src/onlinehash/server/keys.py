"""Who may read, and who may write: keys in the header ``Authorization: Bearer KEY``.

Only digests are kept, and every comparison takes as long whether it fits or not. A key for writing may
read. Without any key everybody may do everything, and the server listens on this machine only.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal

from starlette.requests import HTTPConnection

from onlinehash.errors import InvalidParameterError
from onlinehash.server.problems import ProblemError

Right = Literal["read", "write"]

_SHORTEST = 16


class Keys:
    """The keys of a server."""

    def __init__(self, read: Iterable[str] = (), write: Iterable[str] = ()) -> None:
        self._read, self._write = _digests(read), _digests(write)

    def __bool__(self) -> bool:
        return bool(self._read or self._write)

    def check(self, connection: HTTPConnection, right: Right) -> None:
        """Refuse who may not do this."""
        if not self:
            return
        scheme, _, key = connection.headers.get("authorization", "").partition(" ")
        given = (
            sha256(key.strip().encode("latin-1", "replace")).digest() if scheme.lower() == "bearer" else b""
        )
        writes = _among(given, self._write)
        if writes or (_among(given, self._read) and right == "read"):
            return
        if _among(given, self._read):
            raise ProblemError(403, "AccessError", "this key may read; writing takes another")
        what = "the key is not known" if given else "a key is needed: Authorization: Bearer KEY"
        raise ProblemError(401, "AccessError", what, {"WWW-Authenticate": "Bearer"})


def _digests(keys: Iterable[str]) -> tuple[bytes, ...]:
    keys = list(keys)
    for key in keys:
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            raise InvalidParameterError(
                f"a key must have {_SHORTEST} characters or more, of ASCII and without spaces"
            )
    return tuple(sha256(key.encode()).digest() for key in keys)


def _among(given: bytes, digests: tuple[bytes, ...]) -> bool:
    found = False
    for digest in digests:
        found |= hmac.compare_digest(given, digest)
    return found


def read_keys(path: Path) -> tuple[list[str], list[str]]:
    """The keys for reading and for writing in a file: ``read KEY`` and ``write KEY``, a line each."""
    found: dict[str, list[str]] = {"read": [], "write": []}
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameterError(f"{path}: the keys cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        right, _, key = line.strip().partition(" ")
        if right.startswith("#") or not line.strip():
            continue
        if right not in found or not key.strip():
            raise InvalidParameterError(f"{path}, line {number}: expected read KEY or write KEY")
        found[right].append(key.strip())
    return found["read"], found["write"]
