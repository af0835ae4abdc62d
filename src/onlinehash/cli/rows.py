"""Rows for commands, a batch at a time: from the forms of ``onlinehash.datasets``, or lines of JSON.

Ids are, in this order: those of ``--ids``; the array or column that ``--id-key`` names, or that is
named id; the lines' own. Rows without any are numbered from 0, counting those that are skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.datasets import Item, read, read_columns, read_ids, read_jsonl
from onlinehash.errors import DataFileError, InvalidParameterError
from onlinehash.labels import LabelRows

STDIN = "-"
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows; what the source does not say is None."""

    ids: list[Any]
    vectors: npt.NDArray[np.float32]
    labels: LabelRows | None
    payloads: list[Any] | None

    def __len__(self) -> int:
        return len(self.ids)


class Rows:
    """The rows of a source. ``total`` is None where it is not known, ``dim`` before the first batch, too."""

    def __init__(
        self, source: str, *, labels: Path | None = None, key: str | None = None,
        label_key: str | None = None, transposed: bool | None = None, ids: Path | None = None,
        id_key: str | None = None, payload: Sequence[str] = (), size: int = 4096, skip: int = 0,
        labelled: bool = True,
    ) -> None:  # fmt: skip
        self._source, self._size, self._skip = source, size, skip
        self._lines = source == STDIN or Path(source).suffix.lower() in _LINES
        self.total: int | None = None
        self._ids: list[Any] | None = None
        if self._lines:
            given = {"--labels": labels, "--key": key, "--label-key": label_key, "--transposed": transposed,
                     "--ids": ids, "--id-key": id_key, "--payload": payload or None}  # fmt: skip
            for name, value in given.items():
                if value is not None:
                    raise InvalidParameterError(
                        f"{name} cannot be given: lines of JSON say all of it themselves"
                    )
            return
        self._data = read(source, labels, key=key, label_key=label_key, transposed=transposed)
        if not labelled:
            self._data.labels = None
        self.total = max(0, self._data.n - skip)
        if ids is not None:
            self._ids = read_ids(ids, id_key)
        else:
            self._ids = read_ids(source, id_key, required=id_key is not None)
        self._columns = read_columns(source, payload) if payload else {}
        for name, values in {"ids": self._ids, **self._columns}.items():
            if values is not None and len(values) != self._data.n:
                raise DataFileError(
                    f"{ids if name == 'ids' and ids else source}: {name}: expected {self._data.n:,}, "
                    f"one for each row, got {len(values):,}"
                )

    def __iter__(self) -> Iterator[Batch]:
        return self._of_lines() if self._lines else self._of_file()

    def _of_file(self) -> Iterator[Batch]:
        first = min(self._skip, self._data.n)
        for X, Y in self._data.chunks(self._size, first):
            of = slice(first, first + len(X))
            ids = list(range(of.start, of.stop)) if self._ids is None else self._ids[of]
            payloads = [
                dict(zip(self._columns, values, strict=True))
                for values in zip(*(column[of] for column in self._columns.values()), strict=True)
            ]
            yield Batch(ids, X, Y, payloads or None)
            first = of.stop

    def _of_lines(self) -> Iterator[Batch]:
        name = "standard input" if self._source == STDIN else self._source
        try:
            with nullcontext(sys.stdin) if self._source == STDIN else Path(self._source).open() as stream:
                items = enumerate(read_jsonl(stream))
                for _ in islice(items, self._skip):
                    pass
                while part := list(islice(items, self._size)):
                    yield _batch(part)
        except DataFileError as error:
            raise DataFileError(f"{name}: {error}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise DataFileError(f"{name}: cannot be read ({error})") from error


def _batch(part: list[tuple[int, Item]]) -> Batch:
    for number, item in part:
        if item.vector is None:
            raise DataFileError(f"item {number if item.id is None else repr(item.id)} has no vector")
    items = [item for _, item in part]
    labels = payloads = None
    if any(item.labels is not None for item in items):
        labels = LabelRows.of(item.labels or () for item in items)
    if any(item.payload is not None for item in items):
        payloads = [item.payload for item in items]
    ids = [number if item.id is None else item.id for number, item in part]
    return Batch(ids, np.stack([item.vector for item in items if item.vector is not None]), labels, payloads)
