"""Searches while others add, delete and learn: one generation and one state each, nobody waits for ever."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, IndexClosedError, nearest
from onlinehash.codes import packed_to_words

X = np.random.default_rng(0).normal(size=(4000, 24)).astype(np.float32)
LABELS = ["left" if x[0] < 0 else "right" for x in X]


def together(*works: Callable[[], None]) -> None:
    """Run in threads; the first error of any."""
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("read_only", [False, True])
def test_no_search_mixes_generations_or_states(tmp_path: Path, read_only: bool) -> None:
    index = Index.create(tmp_path / "index", hasher=OHWEU(32, n_init=200).initialize(X[:200]))
    index.add(range(2000), X[:2000], payloads=[{"row": i} for i in range(2000)])
    searched = Index.open(tmp_path / "index", read_only=True) if read_only else index
    generations: dict[int, OHWEU] = {}
    seen: set[int] = set()
    done = threading.Event()

    def learn() -> None:
        try:
            for turn in range(1000):  # at least 60 times, and on until searches have seen what they should
                if turn >= 60 and len(seen) >= 3:
                    break
                of = slice(50 * (turn % 60), 50 * (turn % 60) + 50)
                number = index.learn(X[of], LABELS[of], wait=turn % 3 == 0)
                assert index._hasher is not None
                generations[number] = index._hasher
        finally:
            done.set()

    def change() -> None:
        # item 5000 + i moves from row to row, its payload with it; ids of a group come and go together
        turn = 0
        while not done.is_set():
            turn += 1
            rows = [(turn * 37 + i) % 4000 for i in range(20)]
            payloads = [{"row": row} for row in rows]
            index.add(range(5000, 5020), X[rows], payloads=payloads, replace=True)
            if turn % 3 == 0:
                index.delete(range(5000, 5020))

    def search() -> None:
        turn = 0
        while not done.is_set() or turn < 3:
            turn += 1
            queries = X[turn % 100 : turn % 100 + 4]
            hits = searched.search(queries, k=2030, score="hamming", payloads=True)
            seen.add(hits.generation)
            ids = set(hits.ids[0].tolist()) - {None}
            assert len(ids) in (2000, 2020)
            assert len({id for id in ids if id >= 5000}) in (0, 20)
            verify(hits, queries)

    def verify(hits: Any, queries: Any) -> None:
        """Every distance is that of P and R of the generation that the hits name."""
        with searched._pinned() as (_, snapshot):
            hasher = generations.get(hits.generation)
            if snapshot.generation is not None and snapshot.number == hits.generation:
                hasher = snapshot.generation.hasher
        if hasher is None:
            return
        codes = packed_to_words(hasher.encode_query(queries), 32)[0]
        for q in range(len(queries)):
            rows = [payload["row"] for payload in hits.payloads[q] if payload]
            live = packed_to_words(hasher.encode(X[rows]), 32)[0]
            assert (np.bitwise_count(live ^ codes[q]) == hits.distances[q, : len(rows)]).all()

    searched.search(X[:4], k=2030, score="hamming")  # what is compiled is compiled by now
    together(learn, change, search, search)
    assert len(seen) >= 3
    index.refresh()
    assert index.stats().pending == 0
    before = index.search(X[:50]).to_dict()
    searched.close()
    index.close()
    with Index.open(tmp_path / "index") as again:
        assert again.search(X[:50]).to_dict() == before
        slots = again._snapshot.live.shape[1]
        free = slots - len(again)
        again.add(range(9000, 9000 + free), X[np.arange(free) % len(X)])
        assert again._snapshot.live.shape[1] == slots, "freed slots are used again"


def test_writers_take_turns() -> None:
    with Index.create(":memory:", dim=24, hasher=OHWEU(16, n_init=300)) as index:

        def add(first: int) -> Callable[[], None]:
            def work() -> None:
                for i in range(first, first + 300, 10):
                    index.add(range(i, i + 10), X[i : i + 10])
                    index.learn(X[i : i + 10], LABELS[i : i + 10], wait=i % 20 == 0)

            return work

        together(*(add(first) for first in (0, 300, 600, 900)))
        assert len(index) == 1200
        assert index.stats().learnt == 1200
        hasher = index._hasher
        assert hasher is not None
        index.refresh()
        ids, codes = index.to_numpy()
        assert (codes == hasher.encode(X[np.array(ids, int)])).all()


@pytest.mark.parametrize("turn", range(5))
def test_closing_while_others_are_at_work(turn: int) -> None:
    index = Index.create(":memory:", hasher=OHWEU(16, n_init=200).initialize(X[:200]))
    index.add(range(2000), X[:2000])

    def until_closed(use: Callable[[int], Any]) -> Callable[[], None]:
        def work() -> None:
            i = 0
            try:
                while True:
                    use(i)
                    i += 1
            except IndexClosedError:
                pass

        return work

    def close() -> None:
        threading.Event().wait(0.05 * turn)
        index.close()

    searches = [until_closed(lambda i: index.search(X[i % 50 : i % 50 + 3], k=5)) for _ in range(3)]
    adds = until_closed(lambda i: index.add([3000 + i], X[:1]))
    learns = until_closed(lambda i: index.learn(X[:20], LABELS[:20], wait=i % 2 == 0))
    together(*searches, adds, learns, close)


def test_a_freed_slot_waits_for_those_who_may_see_it(clusters: Any) -> None:
    X, _ = clusters
    with Index.create(":memory:", n_bits=32, sample=X[:300]) as index:
        index.add([f"item {i}" for i in range(700)], X[:700])
        with index._pinned() as (_, snapshot):
            before = nearest(snapshot.live, index._hasher.encode_query(X[:4]), 700, 32)  # type: ignore[union-attr]
            index.delete([f"item {i}" for i in range(300)])
            index.add([f"new {i}" for i in range(300)], X[1000:1300])
            index.learn(X[:100], ["a"] * 100)
            after = nearest(snapshot.live, index._hasher.encode_query(X[:4]), 700, 32)  # type: ignore[union-attr]
            assert snapshot.open is None
            assert (np.sort(before[0]) == np.sort(after[0])).all()
            codes = snapshot.generation.hasher.encode(X[:700])  # type: ignore[union-attr]
            assert (packed_to_words(codes, 32) == snapshot.live).all()
            assert index._snapshot.live.shape[1] == 1000
        del snapshot
        index.add(["again"], X[:1])
        assert index._snapshot.live.shape[1] == 1000
