"""The part of an index that learns: P and R move in a copy, then a refresh brings live codes after them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Self

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import IndexClosedError, IndexLockedError, OnlineHashError, ReadOnlyError, StorageError
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.held import Memory
from onlinehash.index.inputs import check_ids, check_vectors
from onlinehash.index.model import CodeRows, learn_from, to_lesson, to_model
from onlinehash.index.reading import Reading, known_slots
from onlinehash.index.results import Id
from onlinehash.index.snapshot import Floats, Generation, Slots, Unhashed
from onlinehash.index.store import Change, Rows
from onlinehash.kernels.threads import at_most, n_cores
from onlinehash.labels import LabelRows, label_rows

log = logging.getLogger(__name__)

NO_SLOTS: Slots = np.empty(0, np.int64)
_LATELY = 1.0  # seconds
_MOST_LESSONS = 256  # to be learnt from again by whoever opens the file after a crash


class Learning(Reading):
    """What ``Index`` learns by, and how any change of it is made."""

    def __init__(self, store: Any, **how: Any) -> None:
        self._refreshing = threading.Lock()  # one refresh at a time
        self._behind = threading.Lock()  # guards the thread that refreshes behind
        self._thread: threading.Thread | None = None
        self._after: list[Callable[[], None]] = []  # what becomes true when a change is committed
        super().__init__(store, **how)

    # ---- what a user calls

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
                work = buffers.begin_refresh()
            started = time.perf_counter()
            try:
                with self._beside_searches():
                    generation = Generation.of(number, hasher)
                    flipped = work(generation)
            except BaseException:
                with self._writing:
                    buffers.cancel_refresh()
                raise
            with self._writing:
                buffers.end_refresh(generation)
                self._snapshot = buffers.snapshot
                self._flipped = flipped / max(1, before.n_items * self.n_bits)
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

    @contextmanager
    def _beside_searches(self) -> Iterator[None]:
        """While searches come in, learning leaves a core to them: most they would wait for a turn on one."""
        lately, me = time.monotonic() - self._searched < _LATELY, threading.get_ident()
        self._at_work.add(me)
        try:
            with at_most(max(1, n_cores() - 1)) if lately else nullcontext():
                yield
        finally:
            self._at_work.discard(me)

    def _hash(self, hasher: OHWEU, X: Floats) -> Packed:
        started = time.perf_counter()
        codes = hasher.hash(X)
        self._seconds["hash"] = time.perf_counter() - started
        return codes

    def _learn(self, learn: Callable[[Change], None], wait: bool) -> int:
        started = time.perf_counter()
        with self._change() as change:
            number = change.generation + 1
            with self._beside_searches():
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
        self._prepare(change, buffers, NO_SLOTS, NO_SLOTS)

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
            self._prepare(change, None, NO_SLOTS, NO_SLOTS)
        else:
            codes = self._base_codes(change, slots)
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
        self._prepare(change, self._buffers, NO_SLOTS, NO_SLOTS)

    def _initialized(self, change: Change, coming: list[Rows]) -> Memory | None:
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
        buffers = self._memory(generation, len(slots))
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
                self._prepare(change, self._buffers, NO_SLOTS, NO_SLOTS)
        except (IndexClosedError, IndexLockedError):  # closed already, or another writes it now
            pass
        except StorageError:
            log.warning("%s: what was learnt stays written as lessons", self._shown, exc_info=True)

    def _prepare(self, change: Change, buffers: Memory | None, opened: Slots, closed: Slots) -> None:
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


def _keep_labels(change: Change, slots: Slots, labels: list[Any]) -> None:
    """Add labels to those that items have; an item may come several times."""
    items = change.items(np.unique(slots))
    merged = {slot: dict.fromkeys(item.labels) for slot, item in items.items()}
    for slot, of_item in zip(slots.tolist(), labels, strict=True):
        merged[slot].update(dict.fromkeys(of_item))
    change.put_labels(np.array(list(merged), np.int64), [list(of) for of in merged.values()])
