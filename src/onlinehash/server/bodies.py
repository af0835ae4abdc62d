"""Bodies of requests: JSON, or for many vectors at once safetensors and Arrow.

safetensors   the tensor ``vectors`` (or ``codes``, ``sample``), and ``ids`` where they are numbers;
              every other field as JSON text in the metadata, by its name
Arrow         a stream of record batches without compression: a column ``vectors``, and ``ids``,
              ``labels`` and ``payloads`` (JSON text) where they are wanted; every other field as
              JSON text in the schema's metadata

A body is read whole, up to a limit, in the time that it is given, before anything is done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import numpy as np
from fastapi import Request
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load
from starlette.requests import ClientDisconnect

from onlinehash.errors import BusyError, InvalidInputError
from onlinehash.server.arrow import read_arrow
from onlinehash.server.forms import Form
from onlinehash.server.limits import Limits
from onlinehash.server.problems import ProblemError, sentence

JSON = "application/json"
SAFETENSORS = "application/x-safetensors"
ARROW = "application/vnd.apache.arrow.stream"

F = TypeVar("F", bound=Form)

_AT_ONCE = 64 * 1024  # bytes that are parsed without leaving the event loop
_IN_TENSORS = ("vectors", "codes", "sample", "ids")


class Bodies:
    """Reads bodies, and knows how many bytes of them are in memory."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._held = 0

    @asynccontextmanager
    async def form(self, request: Request, kind: type[F]) -> AsyncIterator[F]:
        """The form that a request's body holds; its bytes count as held until the block ends."""
        media = request.headers.get("content-type", "").split(";")[0].strip().lower()
        parse = _PARSERS.get(media)
        if parse is None:
            raise ProblemError(
                415, "InvalidInputError",
                f"Content-Type: expected {JSON}, {SAFETENSORS} or {ARROW}, got {media or 'none'!r}",
            )  # fmt: skip
        most = self.limits.json_body if media == JSON else self.limits.body
        held = [0]

        def hold(size: int) -> None:
            if size > most:
                raise ProblemError(
                    413, "InvalidInputError", f"a body may have {most} bytes as {media}; make several calls"
                )
            if self._held + size - held[0] > self.limits.bodies:
                raise BusyError("the bodies that are being worked on take all the memory there is for them")
            self._held += size - held[0]
            held[0] = size

        try:
            data = await self._read(request, hold)
            try:
                if len(data) <= _AT_ONCE:
                    form = parse(kind, data)
                else:
                    form = await asyncio.to_thread(parse, kind, data)
            except ValidationError as error:
                malformed = any(one["type"] == "json_invalid" for one in error.errors())
                status = 400 if malformed else 422
                raise ProblemError(status, "InvalidInputError", sentence(error)) from None
            del data
            self.limits.check_rows(form.n_rows())
            yield form
        finally:
            self._held -= held[0]

    async def _read(self, request: Request, hold: Callable[[int], None]) -> bytes:
        said = request.headers.get("content-length", "")
        if said.isdecimal():
            hold(int(said))
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    size += len(part)
                    if not said:
                        hold(size)
                    parts.append(part)
        except TimeoutError:
            raise ProblemError(
                408, "ServerError", f"the body did not arrive within {self.limits.body_seconds:g} s",
                {"Connection": "close"},
            ) from None  # fmt: skip
        except ClientDisconnect:
            raise ProblemError(400, "InvalidInputError", "the body ended before its end") from None
        return b"".join(parts)


def _json(kind: type[F], data: bytes) -> F:
    return kind.model_validate_json(data)


def _safetensors(kind: type[F], data: bytes) -> F:
    try:
        tensors = load(data)
        size = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ProblemError(
            400, "InvalidInputError", f"truncated, or not a safetensors body ({error})"
        ) from None
    unknown = sorted(set(tensors) - {*_IN_TENSORS} & set(kind.model_fields))
    if unknown:
        raise InvalidInputError(f"tensors: {unknown[0]!r} is not expected here")
    fields: dict[str, Any] = dict(tensors)
    if "ids" in fields:
        ids = fields["ids"]
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise InvalidInputError(
                f"ids: expected int64 of shape (n,), got {ids.dtype} of shape {ids.shape}"
            )
        fields["ids"] = ids.tolist()
    if "codes" in fields and (fields["codes"].dtype != np.uint8 or fields["codes"].ndim != 2):
        raise InvalidInputError(f"codes: expected uint8 of shape (n, bytes), got {fields['codes'].dtype}")
    return kind.model_validate({**_texts(metadata), **fields})


def _arrow(kind: type[F], data: bytes) -> F:
    fields, metadata = read_arrow(data)
    return kind.model_validate({**_texts(metadata), **fields})


def _texts(metadata: dict[str, str]) -> dict[str, Any]:
    """Fields that are JSON text."""
    fields = {}
    for name, text in metadata.items():
        try:
            fields[name] = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ProblemError(
                400, "InvalidInputError", f"metadata: {name!r} is not JSON ({error})"
            ) from None
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


_PARSERS: dict[str, Callable[[type[Any], bytes], Any]] = {
    JSON: _json, SAFETENSORS: _safetensors, ARROW: _arrow,
}  # fmt: skip
