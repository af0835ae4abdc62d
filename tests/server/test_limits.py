"""How much the server takes on, and what it says beyond that."""

import json
import socket
import threading
from typing import Any

import httpx
import pytest

from onlinehash.server.limits import Limits
from tests.server.conftest import DIM, KINDS, NAMES, Running, Start, X, filled

URL = "/v1/indexes/photos"
ONE = {"vectors": X[:1].tolist()}


def test_a_body_that_is_too_large(start: Start) -> None:
    server = start(limits=Limits(json_body=100_000, body=200_000)).client
    filled(server)
    before = server.get(URL).json()
    for headers, size in (("application/json", 100_001), ("application/x-safetensors", 200_001)):
        answer = server.put(f"{URL}/items", content=b" " * size, headers={"Content-Type": headers})
        assert answer.status_code == 413
        assert f"{size - 1} bytes" in answer.json()["detail"]

        def parts(size: int = size) -> Any:
            yield from [b" " * 1000] * (size // 1000 + 1)

        answer = server.put(f"{URL}/items", content=parts(), headers={"Content-Type": headers})
        assert answer.status_code == 413
    assert server.get(URL).json() == before


def test_sizes_of_calls(start: Start) -> None:
    limits = Limits(rows=20, queries=3, k=5, page=7, indexes=1, dim=DIM, n_bits=32, base_bits=48)
    server = start(limits=limits).client
    assert server.put(URL, json={"dim": DIM, "n_bits": 16}).status_code == 201
    for method, route, body in (
        ("PUT", "/items", {"ids": NAMES[:21], "vectors": X[:21].tolist()}),
        ("POST", "/items/delete", {"ids": NAMES[:21], "missing_ok": True}),
        ("POST", "/learn", {"vectors": X[:21].tolist(), "labels": KINDS[:21]}),
        ("POST", "/search", {"vectors": X[:4].tolist(), "k": 1}),
        ("POST", "/search", ONE | {"k": 6}),
        ("GET", "/items?limit=8", None),
    ):
        answer = server.request(method, f"{URL}{route}", json=body)
        assert answer.status_code == 422, route
        assert "at most" in answer.json()["detail"]
    for settings in (
        {"dim": DIM + 1},
        {"dim": 2, "n_bits": 33},
        {"dim": 2, "parameters": {"base_bits": 49}},
        {"dim": 2},
    ):
        answer = server.put("/v1/indexes/other", json=settings)
        assert answer.status_code == 422
        assert "on this server" in answer.json()["detail"]


def test_changes_that_wait_are_bounded(start: Start) -> None:
    running = start(limits=Limits(changes=3))
    filled(running.client)
    served = running.app.state.parts.library.get("photos")
    lesson = {"vectors": X[:5].tolist(), "labels": KINDS[:5]}
    answers: list[httpx.Response] = []
    threads = [
        threading.Thread(target=lambda: answers.append(running.client.post(f"{URL}/learn", json=lesson)))
        for _ in range(3)
    ]
    with served.index._writing:  # the disk is slow, say
        for thread in threads:
            thread.start()
        while served.changes.waiting < 3:
            threads[0].join(0.01)
        refused = running.client.post(f"{URL}/learn", json=lesson)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"] == "BusyError"
        assert running.client.post(f"{URL}/search", json=ONE).status_code == 200, "searches go on"
    for thread in threads:
        thread.join()
    assert sorted(answer.json()["generation"] for answer in answers) == [3, 4, 5]
    assert running.client.get(URL).json()["stats"]["learnt"] == 100 + 15


@pytest.fixture
def slow(start: Start, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server whose searches wait until they are let go."""
    running = start(limits=Limits(searches=2, seconds=0.2))
    filled(running.client)
    served, go = running.app.state.parts.library.get("photos"), threading.Event()
    search = served.index.search
    monkeypatch.setattr(served.index, "search", lambda *args, **how: (go.wait(30), search(*args, **how))[1])
    yield running
    go.set()


def test_a_search_that_takes_too_long(slow: Running) -> None:
    answer = slow.client.post(f"{URL}/search", json=ONE)
    assert answer.status_code == 503
    assert "0.2 s" in answer.json()["detail"]
    assert slow.client.get("/healthz").status_code == 200


def test_listeners_are_bounded(start: Start) -> None:
    running = start(limits=Limits(listeners=1))
    filled(running.client)
    with running.client.stream("GET", f"{URL}/events") as stream:
        lines = stream.iter_lines()  # its end would be the stream's
        assert next(lines) == "retry: 2000"
        assert running.client.get(f"{URL}/events").status_code == 429


def test_a_body_that_does_not_arrive(start: Start) -> None:
    running = start(limits=Limits(body_seconds=0.2))
    filled(running.client)
    with socket.create_connection(running.listening.getsockname()) as slow:
        head = f"POST {URL}/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")
    assert running.client.post(f"{URL}/search", json=ONE).status_code == 200
    held = running.app.state.parts.bodies._held
    assert held == 0, "the bytes of bodies that have gone are given back"


def test_all_bodies_together(start: Start) -> None:
    running = start(limits=Limits(bodies=200))
    assert running.client.put(URL, json={"dim": 2}).status_code == 201
    body = json.dumps({"ids": ["a" * 200], "vectors": [[1, 2]]})
    answer = running.client.put(f"{URL}/items", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 429
