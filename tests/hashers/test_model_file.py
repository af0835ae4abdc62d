import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from onlinehash import ITQ, LSH, OHWEU, ModelFileError, NotInitializedError

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


@pytest.fixture
def saved(tmp_path: Path, clusters: Clusters) -> tuple[OHWEU, Path]:
    X, Y = clusters
    names = [[f"label {j}" if j % 2 else int(j) for j in np.flatnonzero(row)] for row in Y]
    hasher = OHWEU(24, n_init=300).fit(X, names)
    hasher.save(tmp_path / "model.safetensors")
    return hasher, tmp_path / "model.safetensors"


def test_everything_comes_back(saved: tuple[OHWEU, Path], clusters: Clusters) -> None:
    hasher, path = saved
    X, _ = clusters
    loaded = OHWEU.load(path)
    assert loaded.get_params() == hasher.get_params()
    assert loaded.label_codes_.labels == hasher.label_codes_.labels
    assert (loaded.encode(X) == hasher.encode(X)).all()
    assert (loaded.encode_query(X) == hasher.encode_query(X)).all()
    assert loaded._P.seen == hasher._P.seen
    assert loaded.n_seen_ == hasher.n_seen_
    new = [["label 1", "new"], [0, "newer"]]
    assert (loaded.partial_fit(X[:2], new).encode(X) == hasher.partial_fit(X[:2], new).encode(X)).all()
    assert path.parent.exists()
    assert [other.name for other in path.parent.iterdir()] == [path.name], "a temporary file was left"


@pytest.mark.parametrize(
    "hasher",
    [
        ITQ(16, n_init=np.int64(300)),  # type: ignore[arg-type]
        LSH(16, random_state=None),
        LSH(16, random_state=np.random.default_rng(1)),
        OHWEU(16, centre=np.arange(40) / 100, average=False, unit_norm=False),
    ],
)
def test_every_hasher_and_parameter(hasher: Any, tmp_path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    hasher.fit(X, Y).save(tmp_path / "model")
    assert (type(hasher).load(tmp_path / "model").encode(X) == hasher.encode(X)).all()


def test_an_uninitialised_hasher_has_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(NotInitializedError):
        OHWEU().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(
    saved: tuple[OHWEU, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hasher, path = saved
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        hasher.save(path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


def test_missing_foreign_and_other_files(saved: tuple[OHWEU, Path], tmp_path: Path) -> None:
    _, path = saved
    with pytest.raises(ModelFileError, match="no such file"):
        OHWEU.load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="holds a OHWEU, expected a ITQ"):
        ITQ.load(path)
    save_file({"x": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="not one of onlinehash"):
        OHWEU.load(tmp_path / "foreign")
    (tmp_path / "text").write_text("not a model")
    with pytest.raises(ModelFileError, match="truncated, or not a safetensors file"):
        OHWEU.load(tmp_path / "text")


def test_a_newer_version_is_refused(saved: tuple[OHWEU, Path]) -> None:
    _, path = saved
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert set(metadata) == {"format", "version", "hasher", "content", "checksum"}
    assert json.loads(metadata["content"])["parameters"]["n_bits"] == 24
    save_file(load_file(path), path, metadata | {"version": "2"})
    with pytest.raises(ModelFileError, match=r"version '2'.*reads up to 1"):
        OHWEU.load(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
def test_no_truncated_or_damaged_file_is_loaded(
    saved: tuple[OHWEU, Path], at: float, flip: int, cut: bool
) -> None:
    _, path = saved
    whole = path.read_bytes()
    position = int(at * len(whole))
    damaged = whole[:position] if cut else bytearray(whole)
    if not cut:
        damaged[position] ^= flip  # type: ignore[index]
    other = path.with_name("damaged")
    other.write_bytes(damaged)
    with pytest.raises(ModelFileError):
        OHWEU.load(other)
