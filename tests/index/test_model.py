"""Random adds, replaces, deletes, learns, refreshes and reopenings against a plain dictionary."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from onlinehash import OHWEU, Index, InvalidInputError, UnknownIdError, check
from onlinehash.kernels.refresh import refresh_numpy

DIM, N_BITS, N_INIT = 6, 12, 30
ID = st.one_of(st.integers(0, 60), st.sampled_from(["0", "1", "a", "b"]))
SEED = st.integers(0, 10_000)


@dataclass
class Kept:
    """What the dictionary knows of an item."""

    vector: Any
    payload: Any
    labels: list[Any]


def rows(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


class Machine(RuleBasedStateMachine):
    """An index beside a dictionary."""

    @initialize(refresh=st.sampled_from(["auto", "manual"]), keep=st.booleans(), early=st.booleans())
    def begin(self, refresh: Any, keep: bool, early: bool) -> None:
        self.folder = tempfile.mkdtemp()
        self.path = Path(self.folder) / "index"
        self.refresh_mode = refresh
        self.items: dict[Any, Kept] = {}
        hasher = OHWEU(N_BITS, n_init=N_INIT)
        sample = rows(N_INIT, 0) if early else None
        self.index = Index.create(
            self.path, dim=DIM, hasher=hasher, sample=sample, refresh=refresh, keep_vectors=keep
        )

    @rule(ids=st.lists(ID, min_size=1, max_size=12), seed=SEED, replace=st.booleans())
    def add(self, ids: list[Any], seed: int, replace: bool) -> None:
        X = rows(len(ids), seed)
        payloads = [{"seed": seed, "i": i} for i in range(len(ids))]
        labels = [["odd"] if i % 2 else [] for i in range(len(ids))]
        if len(set(ids)) < len(ids) or (not replace and set(ids) & set(self.items)):
            with pytest.raises(InvalidInputError):
                self.index.add(ids, X, labels, payloads, replace=replace)
            return
        self.index.add(ids, X, labels, payloads, replace=replace)
        self.items |= {id: Kept(*kept) for id, *kept in zip(ids, X, payloads, labels, strict=True)}

    @rule(ids=st.lists(ID, max_size=8), missing_ok=st.booleans())
    def delete(self, ids: list[Any], missing_ok: bool) -> None:
        if not missing_ok and set(ids) - set(self.items):
            with pytest.raises(UnknownIdError):
                self.index.delete(ids)
            return
        self.index.delete(ids, missing_ok=missing_ok)
        self.items = {id: kept for id, kept in self.items.items() if id not in ids}

    @rule(n=st.integers(1, 20), seed=SEED, wait=st.booleans())
    def learn(self, n: int, seed: int, wait: bool) -> None:
        X = rows(n, seed)
        self.index.learn(X, ["left" if x[0] < 0 else "right" for x in X], wait=wait)

    @rule(data=st.data(), label=st.sampled_from(["p", "q"]))
    def tag(self, data: Any, label: str) -> None:
        if self.items:
            id = data.draw(st.sampled_from(list(self.items)))
            self.index.tag([id], [label])
            labels = self.items[id].labels
            self.items[id].labels = [*labels, *([label] if label not in labels else [])]

    @rule()
    def refresh(self) -> None:
        self.index.refresh()
        assert self.index.stats().pending == 0

    @rule()
    def reopen(self) -> None:
        self.index.refresh()
        before = self.index.search(rows(5, 1), k=8).to_dict()
        self.index.close()
        assert check(self.path) == []
        self.index = Index.open(self.path, refresh=self.refresh_mode)
        assert self.index.search(rows(5, 1), k=8).to_dict() == before

    @invariant()
    def everything_is_there(self) -> None:
        assert len(self.index) == len(self.items)
        ids = list(self.items)
        for id in ids[:5]:
            item = self.index.get(id)
            assert item is not None
            assert (item.payload, item.labels) == (self.items[id].payload, self.items[id].labels)
        queries = rows(3, 2)
        hits = self.index.search(queries, k=len(ids) + 2, score="hamming", payloads=True)
        with self.index._pinned() as (_, snapshot):
            generation = snapshot.generation
        for q, row in enumerate(hits):
            assert {hit.id for hit in row} == set(ids)
            assert len(row) == len(ids)
            for hit in row:
                assert hit.payload == self.items[hit.id].payload
            if generation is not None and row and generation.number == hits.generation:
                hasher = generation.hasher
                X = np.array([self.items[hit.id].vector for hit in row])
                live = refresh_numpy(hasher.hash(X), hasher.P_, hasher.base_bits_)
                expected = np.bitwise_count(live ^ hasher.encode_query(queries[q : q + 1])).sum(axis=1)
                assert [hit.distance for hit in row] == expected.tolist()
        odd = self.index.search(queries[:1], k=len(ids) + 1, where={"$labels": "odd"})
        assert {hit.id for hit in odd[0]} == {id for id in ids if "odd" in self.items[id].labels}

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            shutil.rmtree(self.folder)


@pytest.mark.slow
class TestMachine(Machine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=25, stateful_step_count=25, deadline=None, derandomize=True)
