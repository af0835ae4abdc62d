"""What was learnt is written as lessons, and only now and then as a whole; opening learns them again."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, IndexFileError, check
from onlinehash.index import learning as module

X = np.random.default_rng(0).normal(size=(1200, 24)).astype(np.float32)
LABELS = ["left" if x[0] < 0 else "right" for x in X]
HASHERS = [OHWEU(24, n_init=300), OHWEU(24, n_init=300, base_bits=64, pairs=False, learner="pa")]


def lessons(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        found = [row[0] for row in connection.execute("SELECT generation FROM lessons ORDER BY generation")]
    connection.close()
    return found


def state(index: Index) -> dict[str, Any]:
    stats = index.stats()
    return {
        "hits": index.search(X[:50], k=20).to_dict(),
        "learnt": (stats.generation, stats.learnt, stats.labels, stats.loss_P),
        "mistakes": (stats.mistakes_P, stats.mistakes_R),
    }


def teach(index: Index) -> None:
    index.learn(X[:400], LABELS[:400])
    index.learn_one(X[5], ["left", "new"])
    index.tag([3, 4, 5], ["three", "four", "right"])
    index.learn(X[400:401], [None])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("hasher", HASHERS, ids=["ridge", "pa"])
def test_a_file_that_was_not_closed_answers_the_same(hasher: OHWEU, keep: bool, tmp_path: Path) -> None:
    path, cut = tmp_path / "index", tmp_path / "cut"
    with Index.create(path, dim=24, hasher=hasher, keep_vectors=keep) as index:
        index.add(range(600), X[:600])
        first = index.stats().generation
        teach(index)
        # the learner "pa" is so small that 400 rows are more than all that was learnt
        written = first + (hasher.learner == "pa")
        assert lessons(path) == list(range(written + 1, first + 5))
        for end in ("", "-wal"):  # as a crash leaves it
            shutil.copy(f"{path}{end}", f"{cut}{end}")
        expected = state(index)
    assert lessons(path) == []  # written down by closing
    assert check(cut) == []
    for file in (cut, path):
        with Index.open(file) as again:
            assert state(again) == expected


def test_a_reader_learns_the_lessons_that_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create(tmp_path / "index", hasher=HASHERS[0], dim=24) as index:
        index.add(range(600), X[:600])
        with Index.open(tmp_path / "index", read_only=True) as reader:
            monkeypatch.setattr("onlinehash.index.reading.from_model", None)  # it need not read all again
            teach(index)
            assert state(reader)["hits"] == state(index)["hits"]
            index.delete([7])
            assert state(reader)["hits"] == state(index)["hits"]


def test_lessons_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LESSONS", 3)
    with Index.create(tmp_path / "index", hasher=HASHERS[0], dim=24, refresh="manual") as index:
        index.add(range(600), X[:600])
        reader = Index.open(tmp_path / "index", read_only=True)
        counts = []
        for i in range(8):
            index.learn_one(X[i], f"label {i}")
            counts.append(len(lessons(tmp_path / "index")))
        assert counts == [1, 2, 3, 0, 1, 2, 3, 0]
        index.refresh()
        assert state(reader)["hits"] == state(index)["hits"]
        reader.close()
    assert check(tmp_path / "index") == []
    with Index.open(tmp_path / "index") as again:
        assert again.stats().labels == 8


@pytest.mark.parametrize("which", [-1, 0])
def test_a_lesson_that_is_missing_or_damaged_is_found(which: int, tmp_path: Path) -> None:
    path, cut = tmp_path / "index", tmp_path / "cut"
    index = Index.create(path, hasher=HASHERS[0], dim=24)
    index.add(range(600), X[:600])
    teach(index)
    index.backup(cut)
    index.close()
    generation = lessons(cut)[which]
    shutil.copy(cut, tmp_path / "damaged")
    for file, change, what in (
        (cut, "DELETE FROM lessons", "missing"),
        (tmp_path / "damaged", "UPDATE lessons SET data = zeroblob(99)", f"of generation {generation}"),
    ):
        with sqlite3.connect(file) as connection:
            connection.execute(f"{change} WHERE generation = ?", (generation,))
        connection.close()
        with pytest.raises(IndexFileError, match=what):
            Index.open(file)
        assert any(what in sentence for sentence in check(file))
