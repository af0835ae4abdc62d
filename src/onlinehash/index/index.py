"""The live index: add, learn, tag, search, delete; durable, and never stale by surprise.

add      vectors → hash → store → live codes of the generation served → visible
learn    vectors, labels → P, R (a copy) → store → refresh → publish: one reference is swapped
search   pins one state of the store and its snapshot, and never waits for the other two
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from onlinehash.codes import Packed, check_packed, n_bytes
from onlinehash.errors import (
    IndexClosedError,
    IndexFileError,
    InvalidInputError,
    InvalidParameterError,
    ModelFileError,
    OnlineHashError,
    ReadOnlyError,
    StorageError,
)
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index import interop
from onlinehash.index.buffers import Buffers, refresh
from onlinehash.index.inputs import check_choice, check_ids, check_payloads, check_vectors
from onlinehash.index.model import CodeRows, checked_base_bits, learn_from, to_lesson, to_model
from onlinehash.index.reading import Reading, known_slots
from onlinehash.index.results import Id, Item
from onlinehash.index.snapshot import Floats, Generation, Slots, Unhashed
from onlinehash.index.sqlite import DURABILITY, SQLiteStore
from onlinehash.index.store import Change, Rows
from onlinehash.labels import LabelRows, label_rows

log = logging.getLogger(__name__)

MEMORY = ":memory:"
REFRESH = ("auto", "manual")

_MOST_LESSONS = 256  # to be learnt from again by whoever opens the file after a crash

_NO_SLOTS: Slots = np.empty(0, np.int64)


class Index(Reading):
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
        hasher, dim = _hasher(hasher, sample, dim, n_bits)
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
        except BaseException as error:
            store.close()
            if isinstance(error, ModelFileError):
                raise IndexFileError(str(error)) from error
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

    def __init__(self, store: Any, **how: Any) -> None:
        self._refreshing = threading.Lock()  # one refresh at a time
        self._behind = threading.Lock()  # guards the thread that refreshes behind
        self._thread: threading.Thread | None = None
        self._after: list[Callable[[], None]] = []  # what becomes true when a change is committed
        super().__init__(store, **how)

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
            self._prepare(change, self._buffers, _NO_SLOTS, closed)
        return len(closed)

    # ---- learning

    def learn(self, vectors: Any, labels: Any, *, wait: bool = True) -> int:
        """Learn from labelled vectors, which are not kept; the generation that contains it.

        Durable when this returns. With ``refresh="auto"`` it is served then, too; with ``wait=False``
        the refresh goes on behind, and what is learnt in the meantime is refreshed together.
        """
        X = check_vectors(vectors, self.dim)
        rows = Rows(X, label_rows(labels, len(X)), True)
        return self._learn(lambda change: self._learn_rows(change, rows), wait)

    def learn_stream(self, chunks: Iterable[tuple[Any, Any]]) -> int:
        """``learn`` from any iterable of (vectors, labels), waiting for the refresh of the last only."""
        generation = self._generation
        for vectors, labels in chunks:
            generation = self.learn(vectors, labels, wait=False)
        if self._refresh_mode == "auto":
            self.refresh()
        return generation

    def learn_one(self, vector: Any, label: Any) -> Self:
        """Learn from one vector with a label or a collection of labels, as in river."""
        self.learn([vector], [label])
        return self

    def tag(self, ids: Iterable[Id], labels: Any, *, keep: bool = True, wait: bool = True) -> int:
        """Learn from stored items: P from their base codes, R too where the index keeps vectors.

        The labels are added to those that are kept with the items, unless ``keep`` is False.
        """
        names = check_ids(ids)
        of = label_rows(labels, len(names))
        return self._learn(lambda change: self._learn_items(change, names, of, keep), wait)

    def refresh(self) -> int:
        """Serve all that has been learnt by now; the generation that is served."""
        if self.read_only:
            with self._pinned() as (_, snapshot):  # follows what the writer has committed
                return snapshot.number
        with self._refreshing:
            with self._writing:
                before, number, hasher, buffers = (
                    self._snapshot, self._generation, self._hasher, self._buffers
                )  # fmt: skip
                if hasher is None or buffers is None or before.number >= number:
                    return before.number
                base, live = buffers.begin_refresh()
            started = time.perf_counter()
            try:
                generation = Generation.of(number, hasher)
                flipped = refresh(base, live, generation, before)
            except BaseException:
                with self._writing:
                    buffers.cancel_refresh()
                raise
            with self._writing:
                buffers.end_refresh(generation, live)
                self._snapshot, self._flipped = buffers.snapshot, flipped
                self._seconds["refresh"] = time.perf_counter() - started
            return number

    # ---- how it works

    @contextmanager
    def _change(self) -> Iterator[Change]:
        """One change of the store, and of memory once it is committed."""
        if self.read_only:
            raise ReadOnlyError(f"{self._shown} was opened for reading")
        with self._writing:
            started = time.perf_counter()
            self._after = []
            with self._store.write() as change:
                yield change
            for step in self._after:
                step()
            self._seconds["store"] = time.perf_counter() - started

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
                    closed = _NO_SLOTS  # the new memory was filled without them
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

    def _hash(self, hasher: OHWEU, X: Floats) -> Packed:
        started = time.perf_counter()
        codes = hasher.hash(X)
        self._seconds["hash"] = time.perf_counter() - started
        return codes

    def _learn(self, learn: Callable[[Change], None], wait: bool) -> int:
        started = time.perf_counter()
        with self._change() as change:
            number = change.generation + 1
            learn(change)
        self._seconds["learn"] = time.perf_counter() - started
        if self._refresh_mode == "auto":
            if wait:
                self.refresh()
            else:
                self._refresh_behind()
        return number

    def _learn_rows(self, change: Change, rows: Rows) -> None:
        if self._hasher is not None:
            self._learn_from(change, self._hasher, rows)
            return
        buffers = self._initialized(change, [rows])
        if buffers is None:
            change.put_rows(rows)
        self._prepare(change, buffers, _NO_SLOTS, _NO_SLOTS)

    def _learn_items(self, change: Change, ids: list[Id], labels: LabelRows, keep: bool) -> None:
        slots = known_slots(change, ids)
        if keep:
            _keep_labels(change, slots, labels.to_lists())
        X = None
        if self._hasher is None or self.keep_vectors:
            which, vectors = change.vectors(np.unique(slots))
            X = vectors[np.searchsorted(which, slots)]
        if self._hasher is None:
            assert X is not None
            change.put_rows(Rows(X, labels, False))
            self._prepare(change, None, _NO_SLOTS, _NO_SLOTS)
        else:
            assert self._buffers is not None
            codes = self._buffers.base_codes(slots)
            self._learn_from(change, self._hasher, CodeRows(codes, labels, X))

    def _learn_from(self, change: Change, before: OHWEU, lesson: Rows | CodeRows) -> None:
        """Learn in a copy, and store it; it is served after the next refresh."""
        hasher, number = before.copy(), change.generation + 1
        learn_from(hasher, lesson)
        stored = to_lesson(hasher, lesson, number)
        count, size, learnt = change.lessons_size()
        if count < _MOST_LESSONS and size + len(stored.data) < learnt:
            change.put_lesson(stored)
        else:
            change.put_model(to_model(hasher, number, first=False), number)

        def after() -> None:
            self._hasher, self._generation = hasher, number

        self._after.append(after)
        self._prepare(change, self._buffers, _NO_SLOTS, _NO_SLOTS)

    def _initialized(self, change: Change, coming: list[Rows]) -> Buffers | None:
        """Learn W and b, hash what is there, and learn from what waited, if there is enough by now."""
        slots, vectors = change.vectors()
        rows = [*change.rows(), *coming]
        sample = np.concatenate([vectors, *(part.vectors for part in rows if part.new)])
        n_init = self._settings["parameters"]["n_init"]
        if len(sample) < n_init:
            return None
        hasher = OHWEU(**self._settings["parameters"]).initialize(sample[:n_init])
        for part in rows:
            hasher.partial_fit(part.vectors, part.labels)
        change.drop_waiting()
        number = change.generation + 1
        change.put_model(to_model(hasher, number, first=True), number)
        if len(slots):
            change.put_codes(slots, self._hash(hasher, vectors))
            if self.keep_vectors:
                change.put_vectors(slots, vectors.astype(np.float16))
        generation = Generation.of(number, hasher)
        buffers = Buffers(generation, len(slots))
        buffers.follow(change, generation)

        def after() -> None:
            self._buffers, self._hasher, self._generation = buffers, hasher, generation.number

        self._after.append(after)
        return buffers

    def _write_down(self) -> None:
        """Write what was learnt in place of the lessons, so that whoever opens it need not learn again."""
        with suppress(IndexClosedError), self._store.read() as view:
            if not view.lessons_size()[0]:
                return
        try:
            with self._change() as change:
                assert self._hasher is not None
                change.put_model(to_model(self._hasher, self._generation, first=False), self._generation)
                self._prepare(change, self._buffers, _NO_SLOTS, _NO_SLOTS)
        except IndexClosedError:
            pass
        except StorageError:
            log.warning("%s: what was learnt stays written as lessons", self._shown, exc_info=True)

    def _prepare(self, change: Change, buffers: Buffers | None, opened: Slots, closed: Slots) -> None:
        """Make ready what searches will see when the change is committed."""
        if buffers is None:
            slots, vectors = change.vectors()
            waiting = len(slots) + sum(len(rows.vectors) for rows in change.rows() if rows.new)
            snapshot = replace(
                self._snapshot, sequence=change.sequence, n_items=len(slots),
                unhashed=Unhashed.of(slots, vectors), masks={},
            )  # fmt: skip

            def after() -> None:
                self._snapshot, self._waiting = snapshot, waiting
        else:
            ready = buffers.ready(change.sequence, opened, closed)

            def after() -> None:
                buffers.accept(ready)
                self._snapshot = buffers.snapshot

        self._after.append(after)

    def _refresh_behind(self) -> None:
        with self._behind:
            if self._thread is None:
                self._thread = threading.Thread(target=self._refresh_until_done, daemon=True)
                self._thread.start()

    def _refresh_until_done(self) -> None:
        while True:
            try:
                served = self.refresh()
            except OnlineHashError:
                log.exception("%s: a refresh failed; what was learnt is served after the next", self._shown)
                served = self._generation
            with self._behind:
                if served >= self._generation:
                    self._thread = None
                    return


def _check_modes(durability: str, refresh: str) -> None:
    check_choice(durability, tuple(DURABILITY), "durability")
    check_choice(refresh, REFRESH, "refresh")


def _hasher(hasher: Any, sample: Any, dim: Any, n_bits: Any) -> tuple[OHWEU, int]:
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


def _keep_labels(change: Change, slots: Slots, labels: list[Any]) -> None:
    """Add labels to those that items have; an item may come several times."""
    items = change.items(np.unique(slots))
    merged = {slot: dict.fromkeys(item.labels) for slot, item in items.items()}
    for slot, of_item in zip(slots.tolist(), labels, strict=True):
        merged[slot].update(dict.fromkeys(of_item))
    change.put_labels(np.array(list(merged), np.int64), [list(of) for of in merged.values()])
