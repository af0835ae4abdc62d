import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import DataFileError
from onlinehash.datasets import read_jsonl

LABEL = st.one_of(st.text(max_size=3), st.integers(-5, 200))
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "id": LABEL,
        "vector": st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        "labels": st.lists(LABEL, max_size=3),
        "payload": st.recursive(LABEL, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    },
)


@given(items=st.lists(ITEMS, max_size=8))
def test_what_is_written_is_read(items: list[dict[str, Any]]) -> None:
    stream = io.StringIO("".join(json.dumps(item) + "\n" for item in items) + "\n  \n")
    for item, found in zip(items, read_jsonl(stream), strict=True):
        assert (found.id, found.labels, found.payload) == tuple(map(item.get, ("id", "labels", "payload")))
        assert (found.vector is None) == ("vector" not in item)
        if found.vector is not None:
            assert found.vector.dtype == np.float32
            np.testing.assert_array_equal(found.vector, np.float32(item["vector"]))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Expecting"),
        ("[]", "line 2: expected an object with 'id', 'vector', 'labels', 'payload', got a list"),
        ('{"vec": [1]}', "line 2: expected 'id', .* got 'vec'"),
        ('{"id": 1.5}', "line 2: id: expected a string or a whole number, got 1.5"),
        ('{"id": true}', "line 2: id: expected"),
        ('{"labels": "cat"}', "line 2: labels: expected a list of strings or whole numbers, got 'cat'"),
        ('{"labels": [null]}', "line 2: labels: expected"),
        ('{"vector": []}', "line 2: vector: expected a list of numbers"),
        ('{"vector": [1, "2"]}', "line 2: vector: expected a list of numbers"),
        ('{"vector": [1, true]}', "line 2: vector: expected a list of numbers"),
        ('{"vector": [1, 2, 3]}', "line 2: vector: expected 2 numbers, as in line 1, got 3"),
        ('{"vector": [1, NaN]}', "line 2: NaN is not a number that JSON knows"),
        ('{"vector": [1, 1e39]}', "line 2: vector: a number is too large for float32"),
        ('{"vector": [1, 1e999]}', "line 2: vector: a number is too large for float32"),
        (f'{{"vector": [1, {10**400}]}}', "line 2: vector: a number is too large for float32"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(line: str, message: str) -> None:
    found = read_jsonl(['{"id": "a", "vector": [1, 2]}', line])
    assert next(found).id == "a"
    with pytest.raises(DataFileError, match=message):
        next(found)
