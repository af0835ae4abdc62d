from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlinehash import Index, InvalidInputError
from onlinehash.index.filters import parse
from onlinehash.index.results import Payload
from tests.index.kinds import Kind

PAYLOADS: list[Payload | None] = [
    {"year": 2019, "tag": "cat", "ok": True, "author": {"name": "Ada"}},
    {"year": 2020, "tag": ["cat", "dog"], "ok": False, "author": {"name": "Bob"}},
    {"year": 2021.0, "tag": [], "ok": 1, "nothing": None, "ümlaut": "ä'\"\\"},
    {"year": "2020", "tag": {"cat": "cat"}, "ok": 0},
    None,
    {},
]
LABELS = [["a", 1], ["1"], [], ["a", "b"], [2], None]


@pytest.fixture
def index(kind: Kind) -> Any:
    X = np.random.default_rng(0).normal(size=(300, 8))
    with kind.create(":memory:", n_bits=8, sample=X) as made:
        made.add([0, 1, 2, "3", 4, "five"], X[:6], labels=LABELS, payloads=PAYLOADS)
        yield made


ALL: list[Any] = [0, 1, 2, "3", 4, "five"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ALL),
        ({"year": {"gte": 2020}}, [1, 2]),
        ({"year": {"gt": 2019, "lt": 2021}}, [1]),
        ({"year": {"lte": 2020.5}}, [0, 1]),
        ({"year": 2021}, [2]),
        ({"year": "2020"}, ["3"]),
        ({"year": {"gt": "2"}}, ["3"]),
        ({"year": [2019, "2020", 2021]}, [0, 2, "3"]),
        ({"year": {"in": []}}, []),
        ({"year": np.int64(2020)}, [1]),
        ({"year": {"ne": 2020}}, [0, 2, "3", 4, "five"]),
        ({"tag": "cat"}, [0, 1]),
        ({"tag": {"in": {"dog"}}, "year": {"gte": 2020}}, [1]),
        ({"tag": {"exists": True}}, [0, 1, 2, "3"]),
        ({"tag": {"exists": False}}, [4, "five"]),
        ({"nothing": None}, [2]),
        ({"nothing": [None, 5]}, [2]),
        ({"ok": True}, [0]),
        ({"ok": 1}, [2]),
        ({"ok": [False, 0]}, [1, "3"]),
        ({"author.name": "Ada"}, [0]),
        ({"author": "Ada"}, []),
        ({"ümlaut": "ä'\"\\"}, [2]),
        ({"$labels": "a"}, [0, "3"]),
        ({"$labels": 1}, [0]),
        ({"$labels": ["1", 2]}, [1, 4]),
        ({"$labels": {"ne": "a"}}, [1, 2, 4, "five"]),
        ({"$id": "3"}, ["3"]),
        ({"$id": 3}, []),
        ({"$id": [0, "five", "0"]}, [0, "five"]),
        ({"$id": {"gte": 1}}, [1, 2, 4]),
        ({"$or": [{"year": 2019}, {"$labels": 2}]}, [0, 4]),
        ({"$not": {"$or": [{"year": 2019}, {"$labels": 2}]}}, [1, 2, "3", "five"]),
        ({"x'; DROP TABLE items; --": 1}, []),
    ],
)
def test_what_passes(index: Index, where: Any, expected: list[Any]) -> None:
    X = np.random.default_rng(0).normal(size=(2, 8))
    hits = index.search(X, k=6, where=where)
    assert hits.ids.shape == (2, 6)
    for row in hits:
        assert sorted((hit.id for hit in row), key=str) == sorted(expected, key=str)
    assert index.search(X, k=6, where=where).to_dict() == hits.to_dict(), "the mask that was kept is the same"


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (5, "expected a mapping"),
        ("year", "expected a mapping"),
        ([{"a": 1}], "expected a mapping"),
        ({5: 1}, "expected a field's name"),
        ({"$label": 1}, r"\$labels"),
        ({"": 1}, "no empty part"),
        ({"a..b": 1}, "no empty part"),
        ({'a"b': 1}, "quotation mark"),
        ({"year": {"above": 5}}, "'above' is no operator; there are eq"),
        ({"year": {}}, "no operator"),
        ({"year": {"gt": None}}, "number or a str"),
        ({"year": {"gt": True}}, "number or a str"),
        ({"year": {"in": 5}}, "expects a list"),
        ({"year": {"exists": 1}}, "True or False"),
        ({"$id": {"exists": True}}, "a field of the payload"),
        ({"year": float("nan")}, "finite"),
        ({"year": 2**70}, "finite"),
        ({"year": object()}, "'year': expected a str"),
        ({"$or": []}, "a list of 1 to"),
        ({"$or": {"a": 1}}, "a list of 1 to"),
        ({"$not": 5}, "expected a mapping"),
        ({str(i): i for i in range(501)}, "at most 500"),
    ],
)
def test_bad_filters_are_refused(index: Index, where: Any, what: str) -> None:
    with pytest.raises(InvalidInputError, match=what):
        index.search(np.zeros((1, 8)), where=where)


def test_filters_may_not_lie_too_deep() -> None:
    where: dict[str, Any] = {"a": 1}
    for _ in range(30):
        where = {"$not": where}
    with pytest.raises(InvalidInputError, match="20 deep"):
        parse(where)


VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text("ab1", max_size=2)
)


def passes(value: Any, operator: str, wanted: Any) -> bool:
    """One value of a payload, in plain Python."""
    number = (int, float)
    if isinstance(value, bool) or isinstance(wanted, bool) or value is None or wanted is None:
        return operator == "eq" and type(value) is type(wanted) and value == wanted
    if isinstance(value, number) != isinstance(wanted, number):
        return False
    return bool({"eq": value == wanted, "lt": value < wanted, "gte": value >= wanted}[operator])


@settings(max_examples=60)
@given(
    values=st.lists(st.one_of(VALUE, st.lists(VALUE, max_size=3)), min_size=1, max_size=8),
    operator=st.sampled_from(["eq", "lt", "gte"]),
    wanted=VALUE,
)
def test_equals_plain_python(values: list[Any], operator: str, wanted: Any) -> None:
    if operator != "eq" and (wanted is None or isinstance(wanted, bool)):
        operator = "eq"
    with Index.create(":memory:", dim=2) as index:
        index.add(range(len(values)), np.ones((len(values), 2)), payloads=[{"v": value} for value in values])
        hits = index.search([[1, 0]], k=len(values), where={"v": {operator: wanted}})
    expected = {
        i for i, value in enumerate(values)
        if any(passes(one, operator, wanted) for one in (value if isinstance(value, list) else [value]))
    }  # fmt: skip
    assert {hit.id for hit in hits[0]} == expected
