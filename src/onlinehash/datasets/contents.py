"""What a file holds, and by which rules features and labels are picked from it.

    features   the matrix that ``key`` names; otherwise the one with a name out of FEATURE_NAMES;
               otherwise the only matrix that is not named as labels are
    labels     what ``label_key`` names; otherwise the one with a name out of LABEL_NAMES; otherwise,
               in a file that was given for its labels, the only array

Capitals do not count in names, nor does the path of an HDF5 group. Whatever these rules leave open
is refused with a list of what there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from onlinehash.datasets.source import Source
from onlinehash.errors import DataFileError

FEATURE_NAMES = (
    "features", "feature", "feats", "feat", "fea", "x", "vectors", "vector", "embeddings", "embedding",
    "data",
)  # fmt: skip
LABEL_NAMES = ("labels", "label", "y", "targets", "target", "classes", "class", "gnd", "tags")

Key: TypeAlias = str | Sequence[str] | None


class Contents(ABC):
    """An opened file. ``path`` names it in messages."""

    path: Path
    rows_are_items: bool = True  # whether it is the custom that a row is an item
    may_turn: bool = True  # whether it may be otherwise

    @abstractmethod
    def features(self, key: Key, label_key: Key) -> Source:
        """The matrix of features, as it lies in the file."""

    @abstractmethod
    def names(self) -> list[str]:
        """What its arrays or columns are called."""

    @abstractmethod
    def labels(self, key: Key, *, alone: bool) -> Any:
        """Values of the labels: a matrix of numbers, an array, a list; None if there are none.

        ``alone`` means that the file was given for its labels, which must be found then.
        """


@dataclass(frozen=True, slots=True)
class Entry:
    """One array of a file: what it looks like, and how to get at it."""

    name: str
    shape: tuple[int, ...]
    kind: str  # as the format calls its type
    matrix: Callable[[], Source] | None  # for matrices of numbers
    values: Callable[[], Any] | None  # for whatever may be labels; the whole of it

    def __str__(self) -> str:
        return f"{self.name} {self.kind} {self.shape}"


class Arrays(Contents):
    """A file of named arrays."""

    def __init__(self, path: Path, entries: Iterable[Entry], *, rows_are_items: bool = True) -> None:
        self.path = path
        self.entries = list(entries)
        self.rows_are_items = rows_are_items

    def features(self, key: Key, label_key: Key) -> Source:
        if key is not None:
            entry = self._named(key, "key")
        else:
            matrices = [entry for entry in self.entries if entry.matrix and entry.name != label_key]
            entry = (
                _only(matrices, FEATURE_NAMES)
                or _single([entry for entry in matrices if _last(entry.name) not in LABEL_NAMES])
                or self._refuse("features", "key", matrices)
            )
        if entry.matrix is None:
            raise DataFileError(f"{self.path}: features must be a matrix of numbers, but there is {entry}")
        return entry.matrix()

    def labels(self, key: Key, *, alone: bool) -> Any:
        if key is not None:
            entry = self._named(key, "label_key")
        else:
            readable = [entry for entry in self.entries if entry.values]
            named = [entry for entry in readable if _last(entry.name) in LABEL_NAMES]
            if not named and not alone:
                return None
            entry = _single(named or readable) or self._refuse("labels", "label_key", named or readable)
        if entry.values is None:
            raise DataFileError(f"{self.path}: labels cannot be read from {entry}")
        return entry.values()

    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    def _named(self, key: Key, parameter: str) -> Entry:
        found = [entry for entry in self.entries if entry.name == key]
        if not found:
            raise DataFileError(f"{self.path}: nothing is named {parameter}={key!r}; {_listed(self.entries)}")
        return found[0]

    def _refuse(self, what: str, parameter: str, candidates: list[Entry]) -> Entry:
        if not candidates:
            raise DataFileError(f"{self.path}: nothing in it can be {what}; {_listed(self.entries)}")
        raise DataFileError(
            f"{self.path}: any of these may be the {what}, say which with {parameter}: "
            + ", ".join(map(str, candidates))
        )


def _only(entries: list[Entry], names: tuple[str, ...]) -> Entry | None:
    return _single([entry for entry in entries if _last(entry.name) in names])


def _single(entries: list[Entry]) -> Entry | None:
    return entries[0] if len(entries) == 1 else None


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _listed(entries: list[Entry]) -> str:
    return "it holds " + (", ".join(map(str, entries)) or "no array")


def joined(values: Iterable[Any]) -> list[Any]:
    """The labels of several cells as one list; a cell is a label, a list of labels, or None."""
    return [
        label
        for value in values
        if value is not None
        for label in (value if isinstance(value, list) else [value])
    ]
