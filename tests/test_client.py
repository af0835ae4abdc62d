"""The same in this process and over HTTP: results, generations, and the classes of errors."""

import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Client, Index, OnlineHashError
from onlinehash.errors import AccessError, BusyError, IndexFileError, ServerError
from onlinehash.index.results import Codes, Hits, Stats
from onlinehash.server.keys import Keys
from onlinehash.server.limits import Limits
from tests.server.conftest import DIM, KINDS, NAMES, Running, Start, X, start

__all__ = ["start"]  # a fixture

Pair = tuple[Index, Client]

STEPS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add", (NAMES[:50], X[:50], KINDS[:50], [{"row": i} for i in range(50)]), {}),
    ("search", (X[300:303],), {"k": 4}),
    ("codes", (NAMES[:2],), {}),  # not initialised yet
    ("learn", (X[:20], KINDS[:20]), {}),
    ("add", (NAMES[50:200], X[50:200].astype(np.float64)), {}),  # now it is
    ("add", (NAMES[:1], X[:1]), {}),
    ("add", ([1, 2, "2"], X[:3]), {"payloads": [None, {"deep": [1, {"a": None}]}, {"é": 2**70}]}),
    ("add", ([1], X[:1], [["x"]], [{"row": -1}]), {"replace": True}),
    ("add", ([5, 5], X[:2]), {}),
    ("add", ([5], X[:2]), {}),
    ("add", ([5], X[:1], [["x"], ["y"]]), {}),
    ("add", ([5], X[:1], None, ["text"]), {}),
    ("add", ([True], X[:1]), {}),
    ("add", ([5], [[float("nan")] * DIM]), {}),
    ("add", ([5], X[0]), {}),
    ("learn", (X[200:260], KINDS[200:260]), {}),
    ("learn", (X[200:204], np.eye(4, dtype=int)), {}),
    ("learn", (X[:3], [0, None, 2]), {}),
    ("learn", (X[:3], [{0}, {1, 0}, set()]), {}),
    ("learn", (X[:2], [[0, 1], [1, 0]]), {}),  # one of two things, so it is refused
    ("learn", (X[:3], ["a"]), {}),
    ("learn", ([], []), {}),
    ("learn_one", (X[7], "seven"), {}),
    ("tag", (NAMES[:3], ["favourite", ["x", 1], []]), {}),
    ("tag", (NAMES[:1], ["passing"]), {"keep": False}),
    ("tag", (["nobody"], ["x"]), {}),
    ("refresh", (), {}),
    ("search", (X[300:310],), {"k": 12, "payloads": True}),
    ("search", (X[300:310],), {"k": 12, "score": "hamming"}),
    ("search", (X[300:301],), {"k": 300}),
    ("search", (X[:0],), {}),
    ("search", (X[300:302].astype(np.float64),), {"where": {"row": {"gte": 9}, "$labels": {"in": ["left"]}}}),
    ("search", (X[300:302],), {"where": {"$id": {1, "2"}}, "k": 5}),
    ("search", (X[300:302],), {"where": {"row": np.int64(3)}}),
    ("search", (), {"ids": [*NAMES[3:6], 2], "k": 3}),
    ("search", (), {"ids": ["nobody"]}),
    ("search", (), {}),
    ("search", (X[:1],), {"k": 0}),
    ("search", (X[:1],), {"score": "cosine"}),
    ("search", (X[:1],), {"rerank": 10}),
    ("search", (X[:1, :3],), {}),
    ("search", (X[:1],), {"where": {"a": {"near": 1}}}),
    ("get", ("0.jpg",), {}),
    ("get", (2,), {}),
    ("get", ("nobody",), {}),
    ("get", (1.5,), {}),
    ("items", (), {"limit": 7}),
    ("items", (), {"limit": 7, "after": 30, "where": {"row": {"lt": 45}}}),
    ("items", (), {"limit": 0}),
    ("items", (), {"after": -9}),
    ("codes", ([*NAMES[:4], 1],), {}),
    ("codes", ([],), {}),
    ("codes", (["nobody"],), {}),
    ("add_codes", (["code"], np.array([[1, 2, 3]], np.uint8)), {}),
    ("add_codes", (["code 2"], np.array([[1, 2]], np.uint8)), {}),
    ("add_codes", (["code 2"], np.array([[1.0, 2, 3]])), {}),
    ("search", (), {"ids": ["code"], "k": 5}),
    ("delete", (NAMES[10:20],), {}),
    ("delete", (NAMES[9:20],), {}),
    ("delete", (NAMES[9:20],), {"missing_ok": True}),
    ("__contains__", ("9.jpg",), {}),
    ("__contains__", ("30.jpg",), {}),
    ("__contains__", (1.5,), {}),
    ("__len__", (), {}),
    ("stats", (), {}),
    # from here on the rates of mistakes depend on when a refresh happened to come
    ("learn", (X[100:110], KINDS[100:110]), {"wait": False}),
    ("refresh", (), {}),
    ("learn_stream", ([(X[i : i + 9], KINDS[i : i + 9]) for i in range(0, 90, 9)],), {}),
    ("search", (X[300:310],), {"k": 12}),
]  # fmt: skip


@pytest.fixture
def running(start: Start) -> Running:
    return start()


@pytest.fixture(params=[False, True], ids=["codes only", "keeps vectors"])
def pair(running: Running, request: Any) -> Iterator[Pair]:
    hasher = OHWEU(16, base_bits=24, n_init=100)
    how = {"dim": DIM, "hasher": hasher, "keep_vectors": request.param}
    with Index.create(":memory:", **how) as index, Client.create(running.url, "i", **how) as client:
        yield index, client


def outcome(of: Any, name: str, args: Any, how: Any) -> Any:
    """What a call gives, or the class of its error."""
    try:
        result = getattr(of, name)(*args, **how)
    except OnlineHashError as error:
        return type(error)
    if isinstance(result, Hits):
        padding = None if result.payloads is None else result.payloads.tolist()
        return result.to_dict(), result.ids.tolist(), result.distances.tolist(), padding
    if isinstance(result, Codes):
        return result.base.tolist(), result.live.tolist(), result.base_bits, result.n_bits, result.generation
    if isinstance(result, Stats):
        of_the_machine = ("seconds", "path", "disk", "memory", "refresh", "flipped")
        return {name: value for name, value in asdict(result).items() if name not in of_the_machine}
    return None if result is of else result


def test_every_step_is_the_same_in_process_and_over_http(pair: Pair) -> None:
    index, client = pair
    seen = []
    for name, args, how in STEPS:
        here, there = (outcome(of, name, args, how) for of in (index, client))
        assert here == there, (name, args, how)
        seen.append(here)
        if how.get("wait", True):
            assert index.generation == client.generation
    assert sum(isinstance(result, type) for result in seen) >= 20, "errors are compared, too"
    assert (client.dim, client.n_bits) == (DIM, 16)


def test_making_and_dropping(running: Running) -> None:
    with Client.create(running.url, "a", sample=X, n_bits=8) as client:
        assert client.stats().initialized
        with pytest.raises(OnlineHashError, match="there already"):
            Client.create(running.url, "a", dim=3)
        with Client.create(running.url, "a", dim=DIM, n_bits=8, exist_ok=True) as again:
            assert len(again) == 0
        client.drop()
        with pytest.raises(IndexFileError, match="no index 'a'"):
            client.stats()
    for wrong in ({"dim": 0}, {"dim": 4, "n_bits": 0}, {}, {"dim": 4, "hasher": OHWEU(8).fit(X)}):
        with pytest.raises(ValueError):  # noqa: PT011  (the same class as in process, whatever is wrong)
            Client.create(running.url, "b", **wrong)


def test_a_server_that_is_not_there_and_one_that_wants_a_key(start: Start) -> None:
    with Client("http://127.0.0.1:9", "a") as client, pytest.raises(ServerError, match=r"127\.0\.0\.1:9"):
        client.stats()
    reads, writes = "r" * 20, "w" * 20
    url = start(keys=Keys([reads], [writes])).url
    with Client.create(url, "a", dim=DIM, key=writes) as client:
        client.add(NAMES[:3], X[:3])
    with Client(url, "a", key=reads) as client:
        assert len(client) == 3
        with pytest.raises(AccessError, match="may read"):
            client.delete(NAMES[:1])
    with Client(url, "a") as client, pytest.raises(AccessError, match="key is needed"):
        client.stats()


def test_a_busy_server_is_asked_again(start: Start) -> None:
    running = start(limits=Limits(changes=1))
    with Client.create(running.url, "a", dim=DIM) as client:
        index = running.app.state.parts.library.get("a").index
        with index._writing, Client(running.url, "a", patience=0.1) as hasty:
            first = threading.Thread(target=client.add, args=(NAMES[:1], X[:1]))
            first.start()
            while not running.app.state.parts.library.get("a").changes.waiting:
                first.join(0.01)
            with pytest.raises(BusyError, match="1 changes wait"):
                hasty.add(NAMES[1:2], X[1:2])
            second = threading.Thread(target=client.add, args=(NAMES[2:3], X[2:3]))
            second.start()
        first.join()
        second.join()
        assert len(client) == 2


def test_events(running: Running) -> None:
    with Client.create(running.url, "a", sample=X, n_bits=8) as client, Client(running.url, "a") as other:
        events = client.events()
        assert next(events)["event"] == "pulse"
        other.add(NAMES[:40], X[:40])
        number = other.learn(X[:30], KINDS[:30])
        seen = {}
        while "generation" not in seen:
            event = next(events)
            seen[event["event"]] = event
        assert seen["items"]["items"] == 40
        told = seen["generation"]
        assert (told["generation"], told["before"], told["refreshed"], told["learnt"]) == (number, 1, 40, 30)
        assert 0 <= told["flipped"] <= 1
        assert told["milliseconds"] > 0
        events.close()
