"""The part of an index that reads: search, get, stats. Each reads one state, and waits for nobody."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from onlinehash.codes import Packed, n_bytes, words_to_packed
from onlinehash.errors import (
    IndexFileError,
    InvalidInputError,
    InvalidParameterError,
    NotInitializedError,
    UnknownIdError,
)
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index import interop
from onlinehash.index.buffers import Buffers
from onlinehash.index.filters import Filter, parse
from onlinehash.index.held import Memory
from onlinehash.index.inputs import check_after, check_choice, check_ids, check_k, check_vectors
from onlinehash.index.model import from_model, learnt_again
from onlinehash.index.results import Codes, Hits, Id, Item, Page, Score, Stats
from onlinehash.index.search import NONE, Found, by_codes, by_cosine, mask_of, reranked
from onlinehash.index.snapshot import Floats, Generation, Slots, Snapshot, Unhashed
from onlinehash.index.stats import stats_of
from onlinehash.index.store import Store, View
from onlinehash.kernels.threads import kernels_at_most, n_cores

SCORES = ("hamming", "asymmetric")

_PATIENCE = 1000  # looks at a writer that has committed and is about to publish
_LOOK = 2e-4  # seconds between two of them


class Reading:
    """An open store and the memory that goes with it. ``Index`` adds what changes them."""

    def __init__(self, store: Store, *, read_only: bool, durability: str, refresh: str, shown: str) -> None:
        self._store = store
        self._shown = shown
        self._durability = durability
        self._refresh_mode = refresh
        self.read_only = read_only
        self._folder: TemporaryDirectory[str] | None = None  # of an index in memory
        self._writing = threading.RLock()  # one change at a time
        self._buffers: Memory | None = None  # None before initialisation
        self._hasher: OHWEU | None = None  # what has been learnt, perhaps not served yet
        self._generation = 0  # the number of the generation that will contain all of it
        self._waiting = 0  # vectors towards the initial sample
        self._flipped: float | None = None
        self._seconds: dict[str, float] = {}
        self._searched = -math.inf  # when, by the monotonic clock
        self._at_work: set[int] = set()  # threads that learn or refresh
        self._snapshot = Snapshot(-1, 0)
        with store.read() as view:
            self._settings = view.settings()
            self.dim: int = self._settings["dim"]
            self.n_bits: int = self._settings["n_bits"]
            self.keep_vectors: bool = self._settings["keep_vectors"]
            self._follow(view)

    # ---- what a user calls

    def search(
        self, vectors: Any = None, k: int = 10, *, ids: Iterable[Id] | None = None, where: Any = None,
        score: Score = "asymmetric", rerank: int | None = None, payloads: bool = False,
    ) -> Hits:  # fmt: skip
        """The k nearest items of each query: a vector, or a stored item (``ids``, itself left out).

        ``where`` lets only some items through (see ``onlinehash.index.filters``). ``score`` is
        "hamming", or "asymmetric": finer, it orders ten times as many as asked for by how sure the
        query is of each bit that differs. ``rerank`` orders that many of the best by exact cosine,
        where the index keeps vectors. Before initialisation items are found by exact cosine.
        """
        self._searched = time.monotonic()
        k = check_k(k)
        check_choice(score, SCORES, "score")
        if (vectors is None) == (ids is None):
            raise InvalidInputError("search expects either vectors or ids")
        X = None if vectors is None else check_vectors(vectors, self.dim)
        names = None if ids is None else check_ids(ids)
        filter = None if where is None else parse(where)
        if rerank is not None:
            check_k(rerank)
            if not self.keep_vectors:
                raise InvalidParameterError("rerank needs an index with keep_vectors=True")
        with self._pinned() as (view, snapshot):
            own = None if names is None else known_slots(view, names)
            wide = max(k, rerank or 0) + (own is not None)
            if X is None and own is not None and (rerank or snapshot.generation is None):
                X = _vectors_of(view, own)
            if snapshot.generation is None:
                assert X is not None
                found = by_cosine(snapshot, X, wide, None if filter is None else view.matching(filter))
                score_of_hits = "cosine"
            else:
                found = self._by_codes(view, snapshot, X, own, wide, filter, score)
                score_of_hits = score
            if own is not None:
                found = found.without(own)
            if rerank:
                assert X is not None
                found, score_of_hits = reranked(found, X, view), "cosine"
            return _hits(found.first(k), view, snapshot.number, score_of_hits, payloads)

    def get(self, id: Id) -> Item | None:
        """One item, None if it is not there; with its vector where the index has it."""
        (name,) = check_ids([id])
        with self._store.read() as view:
            slot = view.slots([name]).get(name)
            if slot is None:
                return None
            item = view.items(np.array([slot]))[slot]
            _, vectors = view.vectors(np.array([slot]))
            return replace(item, vector=vectors[0].tolist()) if len(vectors) else item

    def items(self, *, where: Any = None, after: int | None = None, limit: int = 100) -> Page:
        """Items, without vectors, in the order of slots: ``limit`` of them, from past ``after`` on.

        ``page.next`` is the ``after`` of the next page. An item that is there all the while, and is not
        replaced, comes exactly once.
        """
        start = -1 if after is None else check_after(after)
        limit = check_k(limit, "limit")
        filter = None if where is None else parse(where)
        with self._pinned() as (view, snapshot):
            found = view.page(filter, start, limit + 1)
            more = len(found) > limit
            return Page([item for _, item in found[:limit]], found[limit - 1][0] if more else None,
                        snapshot.number)  # fmt: skip

    def codes(self, ids: Iterable[Id]) -> Codes:
        """Base and live codes of items: what is stored of them, and what searches compare."""
        names = check_ids(ids)
        with self._pinned() as (view, snapshot):
            if snapshot.generation is None:
                raise NotInitializedError(f"{self._shown}: there are no codes before initialisation")
            slots, base_bits = known_slots(view, names), snapshot.generation.hasher.base_bits_
            live = self._live_codes(snapshot, slots)
            base = view.codes(slots).reshape(len(slots), n_bytes(base_bits))
            return Codes(base, live, base_bits, self.n_bits, snapshot.number)

    def __contains__(self, id: object) -> bool:
        try:
            (name,) = check_ids([id])
        except InvalidInputError:
            return False
        with self._store.read() as view:
            return bool(view.slots([name]))

    def __len__(self) -> int:
        with self._pinned() as (_, snapshot):
            return snapshot.n_items

    @property
    def generation(self) -> int:
        """The number of the generation that a search would see now; 0 before initialisation."""
        return self._snapshot.number

    def stats(self) -> Stats:
        """What the index holds, what it serves, and how its learning goes."""
        with self._pinned() as (view, snapshot):
            served = None if snapshot.generation is None else snapshot.generation.hasher
            return stats_of(
                view, self._hasher or served, path=self._shown, items=snapshot.n_items,
                waiting=0 if served is not None else self._waiting, generation=snapshot.number,
                pending=max(0, view.generation - snapshot.number), flipped=self._flipped,
                seconds=dict(self._seconds), memory=0 if self._buffers is None else self._buffers.n_bytes,
                disk=self._store.n_bytes(), durability=self._durability, refresh=self._refresh_mode,
                read_only=self.read_only,
            )  # fmt: skip

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the index, as it is now, to a new file, while others search and add."""
        self._store.backup(os.fspath(path))

    def to_numpy(self) -> tuple[list[Id], Packed]:
        """All ids, and their live codes, packed, in the same order."""
        with self._pinned() as (view, snapshot):
            if snapshot.generation is None:
                raise NotInitializedError(f"{self._shown}: there are no codes before initialisation")
            slots, ids = [], []
            for slot, item in view.all_items():
                slots.append(slot)
                ids.append(item.id)
            return ids, self._live_codes(snapshot, np.array(slots, np.int64))

    def to_faiss(self) -> tuple[Any, list[Id]]:
        """Live codes as a faiss ``IndexBinaryFlat``, and the id of each of its rows."""
        ids, codes = self.to_numpy()
        return interop.to_faiss(codes, self.n_bits), ids

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Ids and live codes as a Parquet file with the columns ``id`` and ``code``."""
        interop.to_parquet(*self.to_numpy(), path)

    def close(self) -> None:
        """Wait for searches and changes under way, then let go of the file. May be called again."""
        self._store.close()
        if self._folder is not None:
            self._folder.cleanup()

    # ---- how it works

    def _by_codes(
        self, view: View, snapshot: Snapshot, X: Floats | None, own: Slots | None, k: int,
        filter: Filter | None, score: Score,
    ) -> Found:  # fmt: skip
        assert snapshot.generation is not None
        hasher = snapshot.generation.hasher
        weights = None
        if own is not None:  # symmetric: an item's live code is its query code
            queries = self._live_codes(snapshot, own)
            if score == "asymmetric":
                weights = hasher.code_scores(view.codes(own))
        else:
            assert X is not None
            queries = hasher.encode_query(X) if len(X) else np.empty((0, (self.n_bits + 7) // 8), np.uint8)
            if score == "asymmetric" and len(X):
                weights = hasher.query_scores(X)
        return self._nearest(view, snapshot, queries, weights, k, filter)

    # ---- where codes are held: a cluster holds them elsewhere

    def _memory(self, generation: Generation, room: int) -> Memory:
        return Buffers(generation, room)

    def _base_codes(self, view: View, slots: Slots) -> Packed:
        assert isinstance(self._buffers, Buffers)
        return self._buffers.base_codes(slots)

    def _live_codes(self, snapshot: Snapshot, slots: Slots) -> Packed:
        return words_to_packed(np.ascontiguousarray(snapshot.live[:, slots]), self.n_bits)

    def _nearest(
        self, view: View, snapshot: Snapshot, queries: Packed, weights: Floats | None, k: int,
        filter: Filter | None,
    ) -> Found:  # fmt: skip
        mask = None if filter is None else mask_of(snapshot, view, filter)
        with kernels_at_most(max(1, n_cores() - bool(self._at_work))):  # a part beside learning would be late
            return by_codes(snapshot, queries, weights, k, mask)

    # ---- states

    @contextmanager
    def _pinned(self) -> Iterator[tuple[View, Snapshot]]:
        """One state of the store, and the snapshot of that very state."""
        looks = 0
        while True:
            with self._store.read() as view:
                if self._snapshot.sequence < view.sequence and (self.read_only or looks > _PATIENCE):
                    with self._writing:
                        if self._snapshot.sequence < view.sequence:
                            self._follow(view)
                snapshot = self._snapshot
                if snapshot.sequence == view.sequence:
                    yield view, snapshot
                    return
            looks += 1
            time.sleep(_LOOK)

    def _follow(self, view: View) -> None:
        """Come to the state of a view: when opening, and in a process that reads what another writes."""
        if not view.generation:
            slots, vectors = view.vectors()
            self._waiting = len(slots) + sum(len(rows.vectors) for rows in view.rows() if rows.new)
            self._snapshot = Snapshot(view.sequence, len(slots), unhashed=Unhashed.of(slots, vectors))
            return
        started = time.perf_counter()
        generation = None if self._buffers is None else self._buffers.snapshot.generation
        if generation is None or generation.number != view.generation:
            generation = Generation.of(view.generation, self._learnt_by(view, generation))
        buffers = self._buffers or self._memory(generation, view.n_slots())
        buffers.follow(view, generation)
        self._buffers, self._snapshot = buffers, buffers.snapshot
        self._hasher, self._generation = generation.hasher, generation.number
        self._seconds["open"] = time.perf_counter() - started

    def _learnt_by(self, view: View, served: Generation | None) -> OHWEU:
        """The hasher of a view: from the one served, where the lessons since then are all there."""
        if served is not None:
            lessons = view.lessons(served.number)
            if lessons and lessons[0].generation == served.number + 1:
                hasher = served.hasher.copy()
                return learnt_again(hasher, lessons, served.number, view.generation, self._shown)
        model = view.model()
        if model is None:
            raise IndexFileError(f"{self._shown}: damaged, its model is missing")
        return from_model(model, view.lessons(), view.generation, self._shown)


def known_slots(view: View, ids: list[Id]) -> Slots:
    """The slots of ids that must all be there."""
    found = view.slots(ids)
    missing = [id for id in ids if id not in found]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UnknownIdError(f"ids: {missing[0]!r}{more} not in the index")
    return np.array([found[id] for id in ids], np.int64)


def _vectors_of(view: View, slots: Slots) -> Floats:
    which, vectors = view.vectors(np.unique(slots))
    return vectors[np.searchsorted(which, slots)]


def _hits(found: Found, view: View, generation: int, score: str, payloads: bool) -> Hits:
    slots = np.unique(found.slots[found.slots != NONE])
    items = view.items(slots)
    if len(items) < len(slots):
        raise IndexFileError(f"damaged: slot {min(set(slots.tolist()) - set(items))} has a code, but no item")
    rows = found.slots.tolist()

    def of_items(name: str) -> Any:
        values = np.full(found.slots.shape, None, object)
        for q, row in enumerate(rows):
            for i, slot in enumerate(row):
                if slot != NONE:
                    values[q, i] = getattr(items[slot], name)
        return values

    return Hits(of_items("id"), found.distances, generation, score, of_items("payload") if payloads else None)
