"""Rows held out of an index: its generations are measured by them, and it is never told."""

import json
from pathlib import Path

import numpy as np
import pytest

from onlinehash import Index, InvalidInputError, InvalidParameterError
from onlinehash.cli.serve import _held_out
from onlinehash.metrics import mean_average_precision
from onlinehash.server.held_out import MOST, HeldOut
from tests.server.conftest import DIM, KINDS, Start, X, filled

HELD = X[300:], KINDS[300:]


def test_each_generation_is_measured(start: Start, tmp_path: Path) -> None:
    server = start(held_out={"photos": HELD}).client
    filled(server)
    lesson = {"vectors": X[:300].tolist(), "labels": KINDS[:300]}
    number = server.post("/v1/indexes/photos/learn", json=lesson).json()["generation"]
    told: dict[int, float] = {}
    with server.stream("GET", "/v1/indexes/photos/events", headers={"Last-Event-ID": "0"}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and '"map"' in line:
                event = json.loads(line.removeprefix("data: "))
                told[event["generation"]] = event["map"]
                if event["generation"] == number:
                    break
    assert list(told) == [1, 2, 3], "also the first, which has learnt nothing"
    text = server.get("/metrics").text
    assert f'onlinehash_index_held_out_map_ratio{{index="photos"}} {told[number]}' in text
    with Index.open(tmp_path / "indexes" / "photos.oh", read_only=True) as index:
        hasher = index._hasher
        assert hasher is not None
        order = np.random.default_rng(0).permutation(100) + 300
        asking, stored = np.sort(order[:50]), np.sort(order[50:])
        expected = mean_average_precision(
            hasher.encode_query(X[asking]), hasher.encode(X[stored]), [KINDS[i] for i in asking],
            [KINDS[i] for i in stored], n_bits=16,
        )  # fmt: skip
        assert told[number] == expected
        assert HeldOut(*HELD, DIM)(index) == {"generation": number, "map": expected}
    assert told[number] > told[1]
    fresh = server.put("/v1/indexes/other", json={"dim": 4})
    assert fresh.status_code == 201, "what is not named is not measured"


def test_a_figure_of_the_next_generation_is_not_told_of_this_one(start: Start) -> None:
    running = start(held_out={"photos": HELD})
    filled(running.client)
    served = running.app.state.parts.library.get("photos")
    of_now, measure = dict(served.measured), served.measure
    served.measure = lambda index: {"generation": index.generation + 1, "map": 2.0}
    lesson = {"vectors": X[:300].tolist(), "labels": KINDS[:300]}
    number = running.client.post("/v1/indexes/photos/learn", json=lesson).json()["generation"]
    assert served.measured == of_now
    with running.client.stream(
        "GET", "/v1/indexes/photos/events", headers={"Last-Event-ID": "0"}
    ) as answer:  # fmt: skip
        told = (line.removeprefix("data: ") for line in answer.iter_lines() if '"learnt"' in line)
        last = next(event for event in map(json.loads, told) if event["generation"] == number)
    assert "map" not in last
    served.measure = measure
    running.client.post("/v1/indexes/photos/learn", json=lesson).raise_for_status()
    assert served.measured == {"map": measure(served.index)["map"]}


def test_rows_that_are_sorted_by_what_they_show() -> None:
    centres = np.random.default_rng(0).normal(size=(4, DIM)) * 9
    rows, kinds = (
        np.repeat(centres, 50, axis=0) + np.random.default_rng(1).normal(size=(200, DIM)),
        np.arange(200) // 50,
    )
    with Index.create(":memory:", n_bits=16, sample=rows) as index:
        index.learn(rows, kinds)
        assert HeldOut(rows, kinds, DIM)(index)["map"] > 0.99


def test_what_does_not_fit_is_refused(start: Start, tmp_path: Path) -> None:
    server = start("first", held_out={"photos": HELD}).client
    answer = server.put("/v1/indexes/photos", json={"dim": 4})
    assert answer.status_code == 422
    assert "held out for 'photos'" in answer.json()["detail"]
    assert not list((tmp_path / "first").glob("photos*"))
    for vectors, labels in (
        (X[:1], ["a"]),
        (X[:2], ["a", None]),
        (np.zeros((MOST + 1, DIM)), [1] * (MOST + 1)),
    ):
        with pytest.raises(InvalidInputError, match="rows held out, each with a label"):
            HeldOut(vectors, labels, DIM)


def test_rows_come_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "held.npz", X=X[:50], labels=np.array([kinds[0] for kinds in KINDS[:50]]))
    np.save(tmp_path / "bare.npy", X)
    found = _held_out([f"photos={tmp_path / 'held.npz'}"])
    assert (found["photos"][0] == X[:50]).all()
    assert found["photos"][1].to_lists() == [kinds[:1] for kinds in KINDS[:50]]
    with pytest.raises(InvalidParameterError, match="has no labels"):
        _held_out([f"photos={tmp_path / 'bare.npy'}"])
    with pytest.raises(InvalidParameterError, match="expected NAME=FILE, got 'photos'"):
        _held_out(["photos"])
