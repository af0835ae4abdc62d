"""An index on a cluster answers as the embedded one does, bit for bit."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, OnlineHashError, cluster

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(3000, 40)).astype(np.float32)
LABELS = [["left" if x[0] < 0 else "right", int(x[1] > 0)] for x in X]
OWN = {"path": 0, "seconds": 0, "memory": 0, "disk": 0, "shards": 0}


def both(embedded: Index, on_cluster: Index, do: Callable[[Index], Any]) -> None:
    """Do the same to both, and find the same."""
    answers = []
    for index in (embedded, on_cluster):
        try:
            answers.append(do(index))
        except OnlineHashError as error:
            answers.append((type(error), str(error)))
    assert answers[0] == answers[1]
    for k, how in ((7, {}), (900, {"score": "hamming"}), (5, {"payloads": True})):
        ours, theirs = (index.search(X[:40], k=k, **how) for index in (embedded, on_cluster))
        assert (ours.ids == theirs.ids).all()
        assert ours.distances.tobytes() == theirs.distances.tobytes()
        assert (ours.generation, ours.score) == (theirs.generation, theirs.score)
        assert ours.to_dict() == theirs.to_dict()
    assert asdict(embedded.stats()) | OWN == asdict(on_cluster.stats()) | OWN


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_any_operations(uri: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    how: Any = {"dim": 40, "hasher": OHWEU(48, n_init=150), "keep_vectors": seed == 1}
    embedded = Index.create(uri.with_suffix(".oh"), **how)
    on_cluster: Index = cluster.create(uri, shards=3, stripe=16, **how)
    ids: list[Any] = []
    with pytest.raises(OnlineHashError, match="exists"):
        cluster.create(uri, **how)
    for turn in range(24):
        rows = rng.integers(3000, size=int(rng.integers(1, 60)))
        some = [ids[i] for i in rng.integers(len(ids), size=5)] if ids else ["nobody"]
        payloads = [{"row": int(row), "tags": ["a", None, 1.5]} for row in rows]
        names = [f"{turn}'{i}\0" if i % 2 else turn * 1000 + i for i in range(len(rows))]

        def add(index: Index, names=names, rows=rows, payloads=payloads) -> None:  # type: ignore[no-untyped-def]
            index.add(names, X[rows], [LABELS[row] for row in rows], payloads)

        def learn(index: Index, rows=rows) -> int:  # type: ignore[no-untyped-def]
            return index.learn(X[rows], [LABELS[row] for row in rows])

        def replace(index: Index, some=some, rows=rows) -> None:  # type: ignore[no-untyped-def]
            index.add(dict.fromkeys(some), X[rows[: len(set(some))]], replace=True)

        def delete(index: Index, some=some) -> int:  # type: ignore[no-untyped-def]
            return index.delete(some, missing_ok=True)

        def tag(index: Index, some=some) -> int:  # type: ignore[no-untyped-def]
            return index.tag(some[:2], [["x"], [7]])

        def like(index: Index, some=some) -> Any:  # type: ignore[no-untyped-def]
            found = index.search(ids=some[:3], k=4, where={"row": {"lt": 2000}})
            return index.get(some[0]), found.to_dict()

        def filtered(index: Index) -> Any:
            page = index.items(after=3, limit=9), index.items(where={"$labels": "left"}, limit=9)
            return index.search(X[:3], k=4, where={"$labels": ["x", 1], "tags": None}).to_dict(), page

        steps: list[Callable[[Index], Any]] = [add, learn, replace, delete, tag, like, filtered]
        which = 0 if turn in (0, 3) else int(rng.integers(len(steps)))
        both(embedded, on_cluster, steps[which])
        ids = [item.id for _, item in _items(embedded)]
        if turn in (2, 12, 20):  # before there is a sample, and after
            embedded.close()
            on_cluster.close()
            embedded = Index.open(uri.with_suffix(".oh"))
            on_cluster = cluster.open(uri, shards=1 + turn % 4, replicas=1 + (turn == 12))
            both(embedded, on_cluster, len)
    ours, theirs = embedded.to_numpy(), on_cluster.to_numpy()
    assert ours[0] == theirs[0]
    assert (ours[1] == theirs[1]).all()
    assert not on_cluster._store.verify()
    on_cluster.close()
    embedded.close()


def _items(index: Index) -> list[Any]:
    with index._store.read() as view:
        return list(view.all_items())
