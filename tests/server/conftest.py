"""A server of its own for each test, in this process."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
import pytest

from onlinehash.server.app import make_app
from onlinehash.server.run import bind, make_server, url_of

DIM = 12
X: npt.NDArray[np.float32] = np.random.default_rng(0).normal(size=(400, DIM)).astype(np.float32)
KINDS = [["left" if x[0] < 0 else "right", "low" if x[1] < 0 else "high"] for x in X]
NAMES = [f"{i}.jpg" for i in range(len(X))]


class Running:
    """A server in a thread of this process, and a client of it."""

    def __init__(self, folder: Path, **how: Any) -> None:
        keys = how.get("keys")
        self.folder = folder
        self.listening = bind("127.0.0.1", 0, bool(keys))
        self.app = make_app(folder, **how)
        self._server = make_server(self.app)
        self._thread = threading.Thread(target=self._server.run, args=([self.listening],))
        self._thread.start()
        self.url = url_of(self.listening)
        self.client = httpx.Client(base_url=self.url, timeout=60, trust_env=False)
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.005)

    def stop(self) -> None:
        """As on SIGTERM. May be called again."""
        self.client.close()
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a server on a folder; it ends with the test."""
    yield from starting(tmp_path)


@pytest.fixture(scope="module")
def module_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """As ``start``, and it ends with the last test of the file."""
    yield from starting(tmp_path_factory.mktemp("server"))


def starting(tmp_path: Path) -> Iterator[Start]:
    running: list[Running] = []

    def begin(folder: str = "indexes", **how: Any) -> Running:
        running.append(Running(tmp_path / folder, **how))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


@pytest.fixture
def server(start: Start) -> httpx.Client:
    return start().client


@pytest.fixture
def photos(server: httpx.Client) -> httpx.Client:
    """With an index ``photos`` of 200 items that has learnt something."""
    filled(server)
    return server


def filled(server: httpx.Client, name: str = "photos", **headers: Any) -> None:
    """Make an index of 200 items that has learnt something."""
    sample = {"n_bits": 16, "sample": X[:300].tolist(), "parameters": {"base_bits": 24}}
    assert server.put(f"/v1/indexes/{name}", json=sample, **headers).status_code == 201
    items = {
        "ids": NAMES[:200], "vectors": X[:200].tolist(), "labels": KINDS[:200],
        "payloads": [{"row": i} for i in range(200)],
    }  # fmt: skip
    assert server.put(f"/v1/indexes/{name}/items", json=items, **headers).json()["items"] == 200
    lesson = {"vectors": X[200:300].tolist(), "labels": KINDS[200:300]}
    assert server.post(f"/v1/indexes/{name}/learn", json=lesson, **headers).status_code == 200
