"""The live index: add, learn, tag, search, delete; durable, and never stale by surprise.

add      vectors → hash → store → live codes of the generation served → visible
learn    vectors, labels → P, R (a copy) → store → refresh → publish: one reference is swapped
search   pins one state of the store and its snapshot, and never waits for the other two
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from onlinehash.codes import Packed, check_packed, n_bytes
from onlinehash.errors import (
    InvalidInputError,
    InvalidParameterError,
)
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index import interop
from onlinehash.index.inputs import check_choice, check_ids, check_payloads, check_vectors
from onlinehash.index.learning import NO_SLOTS, Learning
from onlinehash.index.model import checked_base_bits, to_model
from onlinehash.index.reading import known_slots
from onlinehash.index.results import Id, Item
from onlinehash.index.snapshot import Floats
from onlinehash.index.sqlite import DURABILITY, SQLiteStore
from onlinehash.index.store import Rows
from onlinehash.labels import label_rows

MEMORY = ":memory:"
REFRESH = ("auto", "manual")


class Index(Learning):
    """A database of items that are found by similarity, under what has been learnt.

    ``Index.create`` and ``Index.open`` make one. Many threads may use it. It is a context manager,
    and ``close`` may be called at any time.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(600, 32))
    >>> sides = ["right" if x[0] > 0 else "left" for x in X]
    >>> with Index.create(":memory:", sample=X[:300], n_bits=16) as index:
    ...     index.add(range(600), X)
    ...     generation = index.learn(X, sides)
    ...     hits = index.search(X[:2], k=3)
    >>> hits.ids.shape, hits.generation == generation
    ((2, 3), True)
    """

    # ---- making and opening

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], dim: int | None = None, n_bits: int | None = None, *,
        hasher: OHWEU | None = None, sample: Any = None, keep_vectors: bool = False,
        durability: Literal["full", "normal"] = "full", refresh: Literal["auto", "manual"] = "auto",
        exist_ok: bool = False,
    ) -> Self:  # fmt: skip
        """Make an index in a new file, or one that ends with the process where ``path`` is ":memory:".

        ``hasher`` is an ``OHWEU``: for its parameters, or fitted, and then used as it is. With neither
        that nor a ``sample`` of vectors, the first ``n_init`` vectors that come are the sample, and
        items are found by exact cosine until then. ``keep_vectors`` stores float16 vectors too.
        ``durability="normal"`` may lose the last moments to a power failure, never to the end of a
        process. ``refresh="manual"`` serves what is learnt when ``refresh`` is called. ``exist_ok``
        opens a file that is there, if dim and n_bits are the same.
        """
        _check_modes(durability, refresh)
        hasher, dim = first_hasher(hasher, sample, dim, n_bits)
        code_bytes = n_bytes(checked_base_bits(hasher, dim))
        folder = TemporaryDirectory(prefix="onlinehash-") if os.fspath(path) == MEMORY else None
        file = Path(folder.name, "index") if folder else Path(path)
        if exist_ok and file.exists() and file.stat().st_size:
            index = cls.open(file, durability=durability, refresh=refresh)
            if (index.dim, index.n_bits) != (dim, hasher.n_bits):
                index.close()
                raise InvalidParameterError(
                    f"{file} has dim={index.dim}, n_bits={index.n_bits}; "
                    f"asked for dim={dim}, n_bits={hasher.n_bits}"
                )
            return index
        settings = {
            "dim": dim, "n_bits": hasher.n_bits, "keep_vectors": bool(keep_vectors),
            "parameters": hasher.plain_parameters(),
        }  # fmt: skip
        store = SQLiteStore.create(file, settings, code_bytes, "off" if folder else durability)
        try:
            if hasher.initialized_:
                with store.write() as change:
                    change.put_model(to_model(hasher, 1, first=True), 1)
            index = cls(store, read_only=False, durability=durability, refresh=refresh, shown=os.fspath(path))
        except BaseException:
            store.close()
            raise
        index._folder = folder
        return index

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, read_only: bool = False,
        durability: Literal["full", "normal"] = "full", refresh: Literal["auto", "manual"] = "auto",
    ) -> Self:  # fmt: skip
        """Open an index's file. One process may write; any number may read, and follow what it writes."""
        _check_modes(durability, refresh)
        if os.fspath(path) == MEMORY:
            raise InvalidParameterError('":memory:" can be created, not opened')
        store = SQLiteStore.open(Path(path), read_only, durability)
        try:
            return cls(store, read_only=read_only, durability=durability, refresh=refresh,
                       shown=os.fspath(path))  # fmt: skip
        except BaseException:
            store.close()
            raise

    @classmethod
    def from_faiss(
        cls, path: str | os.PathLike[str], binary: Any, *, hasher: OHWEU, ids: Iterable[Id] | None = None,
        **how: Any,
    ) -> Self:  # fmt: skip
        """Make an index from a faiss ``IndexBinaryFlat`` of base codes that ``hasher`` gave.

        ``ids`` default to 0, 1, …, as in faiss; ``how`` is passed to ``create``.
        """
        codes = interop.codes_of_faiss(binary)
        index = cls.create(path, hasher=hasher, **how)
        try:
            index.add_codes(range(len(codes)) if ids is None else ids, codes)
        except BaseException:
            index.close()
            raise
        return index

    def close(self) -> None:
        """Wait for what is under way, then let go of the file. May be called again."""
        with self._behind:
            thread = self._thread
        try:
            if not self.read_only and self._folder is None:
                self._write_down()
        finally:
            super().close()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_store"):
            with suppress(Exception):
                self.close()

    # ---- items

    def add(
        self, ids: Iterable[Id], vectors: Any, labels: Any = None, payloads: Any = None, *,
        replace: bool = False,
    ) -> None:  # fmt: skip
        """Add items: durable and visible when this returns, all of them or none.

        ``labels`` are kept with the items, to filter by; ``learn`` and ``tag`` learn. ``payloads`` are
        JSON objects. An id that is there already is refused, unless ``replace``.
        """
        X = check_vectors(vectors, self.dim, keep=self.keep_vectors)
        items = _items(ids, labels, payloads, len(X))
        if items:
            self._add(items, X, None if self._hasher is None else self._hash(self._hasher, X), replace)

    def add_codes(
        self, ids: Iterable[Id], codes: Any, labels: Any = None, payloads: Any = None, *,
        replace: bool = False,
    ) -> None:  # fmt: skip
        """Add items by the base codes that this index's hasher gives them (``OHWEU.hash``)."""
        if self._hasher is None:
            raise InvalidInputError("base codes can be added once the index is initialised")
        if self.keep_vectors:
            raise InvalidInputError("this index keeps vectors: add them instead of base codes")
        codes = check_packed(codes, self._hasher.base_bits_, "base codes")
        items = _items(ids, labels, payloads, len(codes))
        if items:
            self._add(items, None, codes, replace)

    def delete(self, ids: Iterable[Id], *, missing_ok: bool = False) -> int:
        """Delete items, all of them or none; how many. An unknown id is refused, unless ``missing_ok``."""
        names = list(dict.fromkeys(check_ids(ids)))
        with self._change() as change:
            if missing_ok:
                names = list(change.slots(names))
            closed = known_slots(change, names)
            if len(closed):
                change.remove(closed)
            self._prepare(change, self._buffers, NO_SLOTS, closed)
        return len(closed)

    # ---- how it works

    def _add(self, items: list[Item], X: Floats | None, codes: Packed | None, replace: bool) -> None:
        slots: dict[Id, int] = {}
        with self._change() as change:
            if replace:
                slots = change.slots([item.id for item in items])
            closed = np.array(list(slots.values()), np.int64)
            if len(closed):
                change.remove(closed)
            buffers = self._buffers
            if buffers is None and X is not None:
                buffers = self._initialized(change, [Rows(X, label_rows(None, len(X)), True)])
                if buffers is not None:
                    closed = NO_SLOTS  # the new memory was filled without them
            if buffers is not None:
                opened = buffers.vacant(len(items))
            else:
                there, _ = change.vectors()
                opened = np.setdiff1d(np.arange(len(there) + len(items)), there)[: len(items)]
            change.put(opened, items)
            if X is not None and (buffers is None or self.keep_vectors):
                change.put_vectors(opened, X if buffers is None else X.astype(np.float16))
            if buffers is not None:
                if codes is None and X is not None:
                    codes = self._hash(buffers.hasher, X)
                assert codes is not None, "either vectors or codes are added"
                change.put_codes(opened, codes)
                buffers.write(opened, codes)
            self._prepare(change, buffers, opened, closed)


def _check_modes(durability: str, refresh: str) -> None:
    check_choice(durability, tuple(DURABILITY), "durability")
    check_choice(refresh, REFRESH, "refresh")


def first_hasher(hasher: Any, sample: Any, dim: Any, n_bits: Any) -> tuple[OHWEU, int]:
    """The hasher to begin with, apart from the one that was given, and how many features it takes."""
    given = OHWEU(64 if n_bits is None else n_bits) if hasher is None else hasher
    if not isinstance(given, OHWEU):
        raise InvalidParameterError(f"hasher: expected an OHWEU, got {given!r}")
    if n_bits is not None and n_bits != given.n_bits:
        raise InvalidParameterError(f"n_bits is {n_bits}, but the hasher's is {given.n_bits}")
    if given.initialized_ and sample is not None:
        raise InvalidParameterError("give a sample or a fitted hasher, not both")
    own = OHWEU(**given.get_params(deep=False))
    width = None
    if given.initialized_:
        own = OHWEU.from_state(*given.copy().state())
        width = int(given.n_features_in_)
    elif sample is not None:
        array = np.asarray(sample)
        width = int(array.shape[1]) if array.ndim == 2 else None
        own.initialize(check_vectors(array, width or 0, "sample"))
    if dim is None:
        dim = width
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        raise InvalidParameterError(f"dim must be an int of 1 or more, the number of features; got {dim!r}")
    if width is not None and dim != width:
        raise InvalidParameterError(f"dim is {dim}, but the sample or the hasher has {width} features")
    return own, int(dim)


def _items(ids: Any, labels: Any, payloads: Any, n: int) -> list[Item]:
    names = check_ids(ids, n)
    of = label_rows(labels, n).to_lists()
    return [Item(*parts) for parts in zip(names, check_payloads(payloads, n), of, strict=True)]
