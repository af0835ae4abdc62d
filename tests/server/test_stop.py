"""SIGTERM and SIGKILL while others add and learn: what was acknowledged is there."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onlinehash import Client, Index, OnlineHashError, check
from tests.server.conftest import DIM, KINDS, NAMES, X

_SERVER = [sys.executable, "-m", "onlinehash", "serve"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_acknowledged_is_lost(tmp_path: Path, how: signal.Signals) -> None:
    server = subprocess.Popen([*_SERVER, str(tmp_path), "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    acknowledged: list[int] = []
    added: list[str] = []
    enough = threading.Event()

    def learn(first: int) -> None:
        try:
            with Client(url, "photos") as client:
                for turn in range(10_000):
                    row = (first + 8 * turn) % 300
                    rows = slice(row, row + 8)
                    acknowledged.append(client.learn(X[rows], KINDS[rows], wait=turn % 2 == 0))
                    id = f"{first} {turn}"
                    client.add([id], X[row : row + 1])
                    added.append(id)
                    if len(added) > 40:
                        enough.set()
        except OnlineHashError:
            enough.set()

    with server, Client.create(url, "photos", dim=DIM, sample=X, n_bits=16) as client:
        client.add(NAMES[:100], X[:100])
        listener = threading.Thread(target=lambda: _until_it_ends(url))
        threads = [listener, *(threading.Thread(target=learn, args=(first,)) for first in (0, 100, 200))]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        server.send_signal(how)
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert server.wait(60) == -how, "uvicorn ends by the signal that it was stopped by"
    assert len(added) > 40
    with Index.open(tmp_path / "photos.oh") as index:
        stats = index.stats()
        assert all(id in index for id in added)
        assert stats.generation >= max(acknowledged)
        assert stats.learnt >= 8 * len(acknowledged)
        assert stats.items <= 100 + len(added) + 3, "of what was under way at most one add of each thread"
    assert check(tmp_path / "photos.oh") == []
    if how == signal.SIGTERM:
        assert not list(tmp_path.glob("*-wal")), "the files were closed"


def _until_it_ends(url: str) -> None:
    import httpx

    try:
        with Client(url, "photos") as client:
            for _ in client.events():
                pass
    except (httpx.HTTPError, OnlineHashError):
        pass
