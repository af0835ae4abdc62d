from pathlib import Path

import numpy as np
import pytest

from onlinehash import OHWEU, Index, check
from onlinehash.index.buffers import Buffers

X = np.random.default_rng(0).normal(size=(900, 64)).astype(np.float32)


def test_whole_files_are_whole(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a", dim=64, hasher=OHWEU(16, n_init=500)) as index:
        assert check(tmp_path / "a") == []
        index.add(range(100), X[:100])
        index.learn(X[:10], ["a"] * 10)
        assert check(tmp_path / "a") == []
        index.add(range(100, 900), X[100:])
        index.delete([5])
        assert check(tmp_path / "a") == []  # while it is open for writing


def test_what_is_not_there_or_not_ours(tmp_path: Path) -> None:
    assert "no such file" in check(tmp_path / "a")[0]
    (tmp_path / "a").write_text("abc" * 1000)
    assert "not an SQLite file" in check(tmp_path / "a")[0]


def test_live_codes_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create(tmp_path / "a", sample=X[:500]) as index:
        index.add(range(900), X)
    follow = Buffers.follow

    def wrong(self: Buffers, *args: object) -> None:
        follow(self, *args)  # type: ignore[arg-type]
        self._live[0, 600] ^= np.uint64(1)

    monkeypatch.setattr(Buffers, "follow", wrong)
    (sentence,) = check(tmp_path / "a")
    assert "live codes from slot" in sentence
