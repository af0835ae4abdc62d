"""One matrix of a file, read by rows, and never whole unless the format leaves no choice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from onlinehash.errors import DataFileError, MissingExtraError

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]

_SPAN = 4096  # rows that one access reads at most, to bound memory


class Source(ABC):
    """A matrix (n, dim) of numbers. It can be pickled: ``handle`` is opened again where it is needed."""

    shape: tuple[int, int]
    grain: int = 1  # rows that the format cannot read apart; gaps up to this are read along

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """Rows start to stop, of any numeric type."""

    @abstractmethod
    def turned(self) -> Source:
        """The transposed matrix."""

    def take(self, rows: Rows) -> Array:
        """The given rows, which are sorted and differ from one another."""
        blocks = [
            self.read(int(part[0]), int(part[-1]) + 1)[part - part[0]] for part in _spans(rows, self.grain)
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]), np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "handle"}


class Held(Source):
    """In memory: an array, or a sparse matrix in compressed rows."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape

    def read(self, start: int, stop: int) -> Array:
        return _dense(self.array[start:stop])

    def take(self, rows: Rows) -> Array:
        return _dense(self.array[rows])

    def turned(self) -> Held:
        array = self.array.T
        return Held(array.tocsr() if hasattr(array, "tocsr") else array)


class Mapped(Source):
    """A plain array inside a file, mapped into memory: the system reads the pages that are touched."""

    def __init__(
        self,
        path: Path,
        dtype: np.dtype[Any],
        shape: tuple[int, int],
        offset: int,
        order: Literal["C", "F"],
    ) -> None:
        self.path, self.dtype, self.shape = path, dtype, shape
        self.offset: int = offset
        self.order: Literal["C", "F"] = order
        _ = self.handle  # a file that is too short is found here, not in the middle of a stream

    @cached_property
    def handle(self) -> Array:
        try:
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)
        except (ValueError, OSError) as error:
            raise DataFileError(
                f"{self.path}: truncated: it does not hold the {self.shape} array of {self.dtype} "
                f"that it announces ({error})"
            ) from error

    def read(self, start: int, stop: int) -> Array:
        return self.handle[start:stop]

    def take(self, rows: Rows) -> Array:
        return self.handle[rows]

    def turned(self) -> Mapped:
        order: Literal["C", "F"] = "C" if self.order == "F" else "F"
        return Mapped(self.path, self.dtype, self.shape[::-1], self.offset, order)


def extra(module: str, path: Path) -> Any:
    """A module that comes with ``onlinehash[data]``, needed to read ``path``."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtraError(f"{path}: reading it needs {name}: pip install onlinehash[data]") from error


def _spans(rows: Rows, grain: int) -> Iterator[Rows]:
    """Cut sorted rows where a gap is worth skipping, and where a span would grow too long."""
    start = 0
    for i in range(1, len(rows) + 1):
        if i == len(rows) or rows[i] - rows[i - 1] > grain or rows[i] - rows[start] >= max(_SPAN, grain):
            yield rows[start:i]
            start = i


def _dense(array: Any) -> Array:
    dense: Array = array.toarray() if hasattr(array, "toarray") else array
    return dense
