"""Items page by page, and the codes of items."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import (
    OHWEU,
    Index,
    InvalidInputError,
    InvalidParameterError,
    NotInitializedError,
    UnknownIdError,
)
from onlinehash.index.results import Item
from tests.index.kinds import Kind

X = np.random.default_rng(0).normal(size=(500, 24)).astype(np.float32)


@pytest.fixture
def index(kind: Kind) -> Iterator[Index]:
    with kind.create(":memory:", hasher=OHWEU(20, base_bits=30).initialize(X)) as made:
        made.add(
            range(250), X[:250], labels=[i % 3 for i in range(250)], payloads=[{"n": i} for i in range(250)]
        )
        yield made


def paged(index: Index, **how: Any) -> list[Item]:
    """All pages, one after the other."""
    items: list[Item] = []
    after = None
    while True:
        page = index.items(after=after, **how)
        items += page
        if page.next is None:
            return items
        assert len(page) == how["limit"]
        after = page.next


@pytest.mark.parametrize("limit", [1, 7, 50, 249, 250, 251])
def test_pages_are_all_items_once(index: Index, limit: int) -> None:
    items = paged(index, limit=limit)
    assert [item.id for item in items] == list(range(250))
    assert items[7] == index.get(7)


def test_pages_of_a_filter(index: Index) -> None:
    items = paged(index, limit=10, where={"$labels": 1, "n": {"gte": 100}})
    assert [item.id for item in items] == [i for i in range(100, 250) if i % 3 == 1]
    nothing = index.items(where={"n": -1})
    assert (nothing.items, nothing.next, nothing.generation) == ([], None, 1)


def test_what_stays_comes_once_while_others_come_and_go(index: Index) -> None:
    first = index.items(limit=100)
    index.delete(range(50, 150))
    index.add(range(1000, 1100), X[:100])  # some of these into freed slots
    index.learn(X[:50], ["a"] * 50)
    rest = index.items(after=first.next, limit=1000)
    ids = [item.id for item in (*first, *rest)]
    assert len(set(ids)) == len(ids)
    assert set(ids) >= {*range(50), *range(150, 250)}
    assert (first.generation, rest.generation) == (1, 2)


def test_items_before_initialisation(kind: Kind) -> None:
    with kind.create(":memory:", dim=24) as index:
        assert index.items().items == []
        index.add(range(5), X[:5])
        assert [item.id for item in index.items(limit=3)] == [0, 1, 2]
        with pytest.raises(NotInitializedError, match="no codes before"):
            index.codes([1])


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"limit": 0}, InvalidParameterError),
        ({"limit": 2.5}, InvalidParameterError),
        ({"after": "x"}, InvalidParameterError),
        ({"after": -2}, InvalidParameterError),
        ({"after": 2**80}, InvalidParameterError),
        ({"where": {"n": {"near": 1}}}, InvalidInputError),
    ],
)
def test_what_is_refused(index: Index, how: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        index.items(**how)


def test_codes_are_what_the_hasher_makes(index: Index) -> None:
    number = index.learn(X[:200], ["left" if x[0] < 0 else "right" for x in X[:200]])
    rows = [3, 200, 3, 17]
    codes = index.codes(rows)
    hasher: Any = index._hasher
    base: npt.NDArray[np.uint8] = hasher.hash(X[rows])
    assert (codes.base == base).all()
    assert (codes.live == hasher.project(base)).all()
    assert (len(codes), codes.base_bits, codes.n_bits, codes.generation) == (4, 30, 20, number)
    none = index.codes([])
    assert (none.base.shape, none.live.shape) == ((0, 4), (0, 3))
    with pytest.raises(UnknownIdError, match="'3'"):
        index.codes(["3"])
