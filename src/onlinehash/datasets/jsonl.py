"""Lines of JSON from a text stream: one object a line, all of its members optional.

{"id": "a7", "vector": [0.5, 1.0], "labels": ["cat", 3], "payload": {"any": "thing"}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import DataFileError
from onlinehash.labels import Label

_MEMBERS = ("id", "vector", "labels", "payload")


@dataclass(frozen=True, slots=True)
class Item:
    """One line. None stands for what it does not say; no labels (``[]``) are something that it says."""

    id: Label | None
    vector: npt.NDArray[np.float32] | None
    labels: list[Label] | None
    payload: Any


def read_jsonl(lines: Iterable[str]) -> Iterator[Item]:
    """Read items one at a time; blank lines are passed over. All vectors must have the same length.

    >>> [(item.id, item.labels) for item in read_jsonl(['{"id": 1, "labels": ["cat"]}', '{"id": 2}'])]
    [(1, ['cat']), (2, None)]
    """
    width = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = _item(json.loads(line, parse_constant=_refuse))
            if item.vector is not None:
                width = width or (len(item.vector), number)
                if len(item.vector) != width[0]:
                    raise ValueError(
                        f"vector: expected {width[0]} numbers, as in line {width[1]}, got {len(item.vector)}"
                    )
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"line {number}: {error}") from error
        yield item


def _item(found: Any) -> Item:
    if not isinstance(found, dict):
        raise ValueError(f"expected an object with {_named(_MEMBERS)}, got a {type(found).__name__}")
    unknown = [name for name in found if name not in _MEMBERS]
    if unknown:
        raise ValueError(f"expected {_named(_MEMBERS)}, got {unknown[0]!r}")
    name, labels = found.get("id"), found.get("labels")
    if name is not None and not _is_label(name):
        raise ValueError(f"id: expected a string or a whole number, got {name!r}")
    if labels is not None and not (isinstance(labels, list) and all(map(_is_label, labels))):
        raise ValueError(f"labels: expected a list of strings or whole numbers, got {labels!r}")
    return Item(name, _vector(found.get("vector")), labels, found.get("payload"))


def _vector(found: Any) -> npt.NDArray[np.float32] | None:
    if found is None:
        return None
    if not isinstance(found, list) or not found or not all(type(value) in (int, float) for value in found):
        raise ValueError("vector: expected a list of numbers")
    try:
        with np.errstate(over="ignore"):
            vector = np.array(found, np.float64).astype(np.float32)
    except OverflowError:
        vector = np.array([np.inf], np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("vector: a number is too large for float32")
    return vector


def _is_label(value: Any) -> bool:
    return type(value) in (str, int)


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number that JSON knows")
