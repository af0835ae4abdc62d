"""Which slot lies in which shard, and the document that computes how many there would be."""

import json

import numpy as np
import pytest

from benchmarks import layout, tables
from onlinehash.cluster.layout import Layout
from onlinehash.index.search import merged


@pytest.mark.parametrize(("shards", "stripe"), [(1, 4), (3, 4), (5, 1), (4, 100)])
def test_every_slot_lies_in_one_place(shards: int, stripe: int) -> None:
    of, slots = Layout(shards, stripe), np.arange(157)
    there = [(shard, local) for shard, local in zip(of.shard_of(slots), of.local(slots), strict=True)]
    assert len(set(there)) == len(slots)
    found = np.concatenate([slots[rows] for _, rows in of.divided(slots)])
    assert sorted(found) == slots.tolist()
    for shard in range(shards):
        own = slots[of.shard_of(slots) == shard]
        assert of.local(own).tolist() == list(range(of.n_local(shard, len(slots))))  # no gaps, and in order
        assert (of.slots(shard, of.local(own)) == own).all()
        condition = of.condition(shard, len(slots)).replace("AND", "and").replace("OR", "or")
        assert [slot for slot in slots if eval(condition, {"slot": slot})] == own.tolist()


def test_merging_is_one_scan() -> None:
    rng = np.random.default_rng(0)
    distances, costs = rng.integers(0, 5, (7, 60)).astype(np.float32), rng.random((7, 60)).round(1)
    slots = np.broadcast_to(np.arange(60), (7, 60))

    def part(columns: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return slots[:, columns], distances[:, columns], costs[:, columns].astype(np.float32)

    whole = merged([part(slice(None))], 7, 20, 9)
    parts = merged([part(slice(i, None, 3)) for i in (2, 0, 1)], 7, 20, 9)
    assert (whole.slots == parts.slots).all()
    assert (whole.distances == parts.distances).all()
    for q in range(7):
        head = np.lexsort((np.arange(60), distances[q]))[:20]
        assert whole.slots[q].tolist() == head[np.argsort(costs[q, head], kind="stable")][:9].tolist()
    assert merged([], 2, 20, 3).slots.tolist() == [[-1] * 3] * 2


def test_the_document_follows_the_measurements() -> None:
    text, found = layout.SCALE.read_text(), json.loads(tables.FIGURES.read_text())
    assert text == layout.written(text, found), "python -m benchmarks.layout writes it again"
