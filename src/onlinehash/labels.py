"""What a user may pass as Y, brought to one form.

Three forms, told apart by their type and shape, never guessed from a few values:

    multi-hot          a 2-D array of 0/1 (or bool), column j stands for the label j
    class labels       a 1-D array or a list of str or int, one label a row; None for no label
    label collections  a list with a list, tuple, set or array of str or int for each row

A label is a str or an int; ``np.int64(3)``, ``3`` and ``3.0`` are the same label, ``"3"`` is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from onlinehash.errors import InvalidInputError

Label: TypeAlias = str | int

FORMS = (
    "accepted are: a 2-D array of 0/1 with a column for each label (bool, if it has one column); "
    "a 1-D array or list of class labels (str or int, None for no label); "
    "a list with a collection (list, tuple, set) of str or int labels for each row"
)


@dataclass(frozen=True, slots=True)
class LabelRows:
    """Rows of labels, compressed: row i has ``vocabulary[j] for j in indices[starts[i]:starts[i+1]]``."""

    vocabulary: tuple[Label, ...]
    indices: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> LabelRows:
        first, last, _ = rows.indices(len(self))
        starts = self.starts[first : max(first, last) + 1]
        return LabelRows(self.vocabulary, self.indices[starts[0] : starts[-1]], starts - starts[0])

    def take(self, rows: npt.NDArray[np.int64]) -> LabelRows:
        """The rows that are numbered, in that order."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], counts)
        return LabelRows(self.vocabulary, self.indices[at], starts)

    def in_order_of_names(self) -> LabelRows:
        """The same rows with the vocabulary, and each row's labels, sorted by name.

        A set's own order differs from run to run; whoever takes labels one by one needs this.
        """
        order = sorted(range(len(self.vocabulary)), key=lambda j: _name_order(self.vocabulary[j]))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        row = np.repeat(np.arange(len(self)), np.diff(self.starts))
        indices = rank[self.indices]
        sorted_within = indices[np.lexsort((indices, row))]
        return LabelRows(tuple(self.vocabulary[j] for j in order), sorted_within, self.starts)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which rows have a label."""
        return np.diff(self.starts) > 0

    @classmethod
    def of(cls, rows: Iterable[Iterable[Any]]) -> LabelRows:
        """From a collection of labels for each row, whatever these labels are."""
        number: dict[Label, int] = {}
        indices: list[int] = []
        starts = [0]
        for labels in rows:
            indices.extend({number.setdefault(_label(label), len(number)): None for label in labels})
            starts.append(len(indices))
        return cls(tuple(number), np.array(indices, np.int64), np.array(starts, np.int64))

    def to_lists(self) -> list[list[Label]]:
        """A list of labels for each row, which ``of`` reads back."""
        names = [self.vocabulary[j] for j in self.indices]
        starts = self.starts.tolist()
        return [names[a:b] for a, b in pairwise(starts)]


def label_rows(Y: Any, n_rows: int | None = None) -> LabelRows:
    """Read ``Y`` in any of the accepted forms, or LabelRows; None means that no row has a label.

    >>> label_rows([{"cat"}, {"dog", "cat"}, []]).labelled
    array([ True,  True, False])
    """
    if isinstance(Y, LabelRows):
        rows = Y
    elif Y is None:
        rows = LabelRows((), np.empty(0, np.int64), np.zeros((n_rows or 0) + 1, np.int64))
    elif hasattr(Y, "toarray"):
        rows = _multi_hot(Y.toarray())
    elif isinstance(Y, (str, bytes, dict)) or not (isinstance(Y, Sequence) or hasattr(Y, "__array__")):
        raise InvalidInputError(f"Y: got {_name(Y)}; {FORMS}")
    elif isinstance(Y, Sequence):
        rows = _sequence(Y)
    else:
        array = np.asarray(Y)
        if array.ndim == 1:
            rows = _sequence(array.tolist())
        elif array.ndim == 2:
            rows = _multi_hot(array)
        else:
            raise InvalidInputError(f"Y: got an array of shape {array.shape}; {FORMS}")
    if n_rows is not None and len(rows) != n_rows:
        raise InvalidInputError(f"Y: expected {n_rows} rows, as X has, got {len(rows)}")
    return rows


def shared_label_masks(*parts: LabelRows) -> list[npt.NDArray[np.uint64]]:
    """For each part a bit mask of labels for each row, over the vocabulary of all parts together.

    Two rows, of whichever parts, share a label where the masks' ``&`` is not 0.
    """
    names = sorted({name for part in parts for name in part.vocabulary}, key=_name_order)
    number = {name: j for j, name in enumerate(names)}
    masks = []
    for part in parts:
        mask = np.zeros((len(part), max(1, -(-len(names) // 64))), np.uint64)
        of = np.array([number[name] for name in part.vocabulary], np.int64)[part.indices]
        row = np.repeat(np.arange(len(part)), np.diff(part.starts))
        np.bitwise_or.at(mask, (row, of // 64), np.uint64(1) << (of % 64).astype(np.uint64))
        masks.append(mask)
    return masks


def _name_order(label: Label) -> tuple[bool, Label]:
    """Numbers before words."""
    return isinstance(label, str), label


def _multi_hot(array: npt.NDArray[Any]) -> LabelRows:
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InvalidInputError(
            f"Y: expected a 2-D array of 0/1, got {array.dtype} of shape {array.shape} "
            f"with other values; {FORMS}"
        )
    if array.shape[1] == 1 and array.dtype != bool:
        raise InvalidInputError(
            "Y: an array with one column may be class labels (pass Y[:, 0]) or multi-hot with one "
            f"label (pass Y.astype(bool)); {FORMS}"
        )
    rows, indices = np.nonzero(array)
    starts = np.searchsorted(rows, np.arange(len(array) + 1))
    return LabelRows(tuple(range(array.shape[1])), indices.astype(np.int64), starts.astype(np.int64))


def _sequence(rows: Sequence[Any]) -> LabelRows:
    if set(map(type, rows)) <= {str, int}:  # the same as below, ten times as fast
        number = {label: j for j, label in enumerate(dict.fromkeys(rows))}
        indices = np.fromiter(map(number.__getitem__, rows), np.int64, len(rows))
        return LabelRows(tuple(number), indices, np.arange(len(rows) + 1))
    collections = [_is_collection(row) for row in rows if row is not None]
    if any(collections) and not all(collections):
        raise InvalidInputError(f"Y: got a list that mixes labels and collections of labels; {FORMS}")
    if collections and collections[0] and _may_be_multi_hot(rows):
        raise InvalidInputError(
            "Y: lists of equally many 0 and 1 may be multi-hot (pass np.asarray(Y), bool if it has one "
            f"column) or collections of the labels 0 and 1 (pass sets); {FORMS}"
        )
    return LabelRows.of(() if row is None else row if _is_collection(row) else (row,) for row in rows)


def _is_collection(row: Any) -> bool:
    return isinstance(row, (list, tuple, set, frozenset)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _may_be_multi_hot(rows: Sequence[Any]) -> bool:
    if any(row is None or isinstance(row, (set, frozenset)) for row in rows):
        return False
    width = len(rows[0])
    return width > 0 and all(
        len(row) == width and all(not isinstance(v, str) and v in (0, 1) for v in row) for row in rows
    )


def _label(label: Any) -> Label:
    if isinstance(label, str):
        return str(label)
    if isinstance(label, (int, np.integer, np.bool_)):
        return int(label)
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return int(label)
    raise InvalidInputError(f"Y: a label must be a str or an int, got {label!r}; {FORMS}")


def _name(value: Any) -> str:
    return f"a {type(value).__name__}"
