"""Files of every version of the format that there has been open, and answer as they did.

``python -m tests.index.test_golden`` writes those of the present version; they are never written again.
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, check
from onlinehash.index.sqlite import VERSION

GOLDEN = Path(__file__).parent / "golden"
QUERIES = (np.arange(40).reshape(5, 8) % 7 - 3).astype(np.float32)


def answers(index: Index) -> dict[str, Any]:
    """As JSON gives it back; cosines without the digits that depend on the machine."""
    found = {
        "hits": index.search(QUERIES, k=12, score="hamming", payloads=True).to_dict(),
        "filtered": index.search(QUERIES, k=3, score="hamming", where={"n": {"lt": 20}}).to_dict(),
        "labelled": index.search(QUERIES, k=60, score="hamming", where={"$labels": ["odd", 7]}).to_dict(),
        "like": index.search(ids=["item 5"], k=5, score="hamming").to_dict(),
        "items": len(index),
        "labels": index.stats().labels,
    }
    return dict(json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 3)))


@pytest.mark.parametrize("version", range(1, VERSION + 1))
@pytest.mark.parametrize("kind", ["hashed", "waiting"])
def test_files_of_every_version(version: int, kind: str, tmp_path: Path) -> None:
    shutil.copy(GOLDEN / f"{kind}-{version}.oh", tmp_path / "index")
    assert check(tmp_path / "index") == []
    with Index.open(tmp_path / "index") as index:
        assert answers(index) == json.loads((GOLDEN / f"{kind}-{version}.json").read_text())
        index.learn(QUERIES, ["odd", "even", 7, 8, "odd"])
        index.add(["new"], QUERIES[:1])
    with Index.open(tmp_path / "index") as index:
        assert "new" in index


def write() -> None:
    """The files of the present version."""
    X = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    for kind, n_init in (("hashed", 30), ("waiting", 100)):
        path = GOLDEN / f"{kind}-{VERSION}.oh"
        with (
            TemporaryDirectory() as folder,
            Index.create(f"{folder}/index", dim=8, hasher=OHWEU(16, n_init=n_init)) as index,
        ):
            ids: list[Any] = [f"item {i}" if i % 2 else i for i in range(60)]
            labels = [["odd", i] if i % 2 else None for i in range(60)]
            index.add(ids, X, labels=labels, payloads=[{"n": i, "ü": [i]} for i in range(60)])
            index.learn(X[:20], labels[:20])
            index.delete([0, 2, "item 59"])
            index.tag(["item 7", 8], ["tagged", "tagged"])
            found = answers(index)
            index.backup(path)  # as it is, with its lessons
        (GOLDEN / f"{kind}-{VERSION}.json").write_text(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write()
