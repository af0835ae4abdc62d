"""What users give to an index, checked whole before anything is touched."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.index.results import Id, Payload

Floats = npt.NDArray[np.float32]

MAX_FLOAT16 = 65504.0


def check_ids(ids: Any, n: int | None = None) -> list[Id]:
    """A list of str and int, no two alike where there are to be ``n``."""
    if isinstance(ids, (str, bytes, Mapping)) or not isinstance(ids, Iterable):
        raise InvalidInputError(
            f"ids: expected a list of str or int, got {ids!r:.60}; for one item, a list of one"
        )
    values = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    checked = [_id(value) for value in values]
    if n is None:
        return checked
    if len(checked) != n:
        raise InvalidInputError(f"ids: expected {n}, one for each vector, got {len(checked)}")
    if len(set(checked)) < n:
        seen: set[Id] = set()
        twice = next(value for value in checked if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InvalidInputError(f"ids: {twice!r} is there twice in one batch")
    return checked


def _id(value: Any) -> Id:
    if isinstance(value, str):
        return _text(str(value), "ids")
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if -(2**63) <= value < 2**63:
            return int(value)
        raise InvalidInputError(f"ids: an int must fit into 64 bits, got {value}")
    raise InvalidInputError(f"ids: an id must be a str or an int, got {value!r}")


def _text(value: str, name: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{name}: {value!r} cannot be written in UTF-8") from error
    return value


def check_vectors(vectors: Any, dim: int, name: str = "vectors", *, keep: bool = False) -> Floats:
    """A float32 array (n, dim) of finite numbers; of float16's range where they are kept."""
    expected = f"{name}: expected numbers of shape (n, {dim})"
    if hasattr(vectors, "toarray"):
        vectors = vectors.toarray()
    try:
        array = np.asarray(vectors)
    except ValueError as error:
        raise InvalidInputError(f"{expected}; got rows of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{expected}; got {array.dtype} of shape {array.shape}")
    if array.ndim != 2 or array.shape[1] != dim:
        one = " (for one vector x, pass [x])" if array.ndim == 1 else ""
        raise InvalidInputError(f"{expected}; got shape {array.shape}{one}")
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(f"{name}: row {row} has a value that is NaN, infinite or beyond float32")
    if keep and array.size and np.abs(array).max() > MAX_FLOAT16:
        raise InvalidInputError(f"{name}: vectors are kept as float16, which ends at {MAX_FLOAT16:g}")
    return array


def check_k(k: Any, name: str = "k") -> int:
    """An int of 1 or more."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InvalidParameterError(f"{name} must be an int of 1 or more, got {k!r}")
    return int(k)


def check_after(after: Any) -> int:
    """What a page said to go on from."""
    if isinstance(after, bool) or not isinstance(after, (int, np.integer)) or not -1 <= after < 2**62:
        raise InvalidParameterError(f"after must be the next of a page of items, got {after!r}")
    return int(after)


def check_payloads(payloads: Any, n: int) -> list[Payload | None]:
    """A JSON object or None for each of ``n`` items."""
    if payloads is None:
        return [None] * n
    if isinstance(payloads, (str, Mapping)) or not isinstance(payloads, Sequence):
        raise InvalidInputError(f"payloads: expected a list of dicts, got a {type(payloads).__name__}")
    if len(payloads) != n:
        raise InvalidInputError(f"payloads: expected {n}, one for each vector, got {len(payloads)}")
    for i, payload in enumerate(payloads):
        if payload is not None and not isinstance(payload, dict):
            raise InvalidInputError(f"payloads[{i}]: expected a dict or None, got {payload!r:.60}")
        _json(payload, f"payloads[{i}]")
    return list(payloads)


def _json(value: Any, where: str) -> None:
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        _text(value, where)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{where}: JSON has no {value}")
    elif isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise InvalidInputError(f"{where}: keys must be str in JSON, got {key!r}")
            _text(key, where)
            _json(part, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _json(part, f"{where}[{i}]")
    else:
        raise InvalidInputError(f"{where}: expected JSON, got a {type(value).__name__}")


def to_json(value: Any) -> str:
    """Compact JSON of what was checked before."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_choice(value: Any, choices: tuple[str, ...], name: str) -> Any:
    """One of a few words."""
    if value not in choices:
        raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value
