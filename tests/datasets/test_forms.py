"""What is written in any form is read back equal, and what is damaged is refused."""

import pickle
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onlinehash import DataFileError, MissingExtraError
from onlinehash.datasets import Dataset, read
from tests.datasets.writers import FORMS, Floats

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
MATRICES = hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20), elements=NUMBERS)


def written(form: str, folder: Path, X: Floats) -> Path:
    ending, write, _ = FORMS[form]
    path = folder / f"file{ending}"
    write(path, X)
    return path


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12)
@given(X=MATRICES, size=st.integers(1, 25), data=st.data())
def test_what_is_written_is_read_by_chunks_of_any_size(
    form: str, X: Floats, size: int, data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        found = read(written(form, Path(folder), X), **FORMS[form][2])
        assert (found.n, found.dim, len(found), found.labels) == (*X.shape, len(X), None)
        chunks = [chunk for chunk, _ in found.chunks(size)]
        assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
        assert all(chunk.dtype == np.float32 and chunk.flags.c_contiguous for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate(chunks), X)
        rows = data.draw(st.lists(st.integers(0, len(X) - 1), max_size=30))
        np.testing.assert_array_equal(found.rows(rows)[0], X[rows])
        copy: Dataset = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(copy.rows(rows)[0], X[rows])
        start = data.draw(st.integers(0, len(X)))
        rest = [chunk for chunk, _ in copy.chunks(size, start)]
        np.testing.assert_array_equal(np.concatenate([X[:0], *rest]), X[start:])


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_not_finite_are_refused_with_their_row(form: str, tmp_path: Path) -> None:
    X = np.ones((9, 3), np.float32)
    X[5, 1], X[7, 2] = np.nan, np.inf
    found = read(written(form, tmp_path, X), **FORMS[form][2])
    assert next(found.chunks(5))[0].shape == (5, 3)
    with pytest.raises(DataFileError, match="file: row 5 of the file has a value that is missing or"):
        list(found.chunks(4))
    with pytest.raises(DataFileError, match="row 7 of the file has"):
        found.rows([0, 7, 3])


@pytest.mark.parametrize("form", [form for form in FORMS if not FORMS[form][0].endswith("sv")])
def test_truncated_files_are_refused(form: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    path = written(form, tmp_path, X)
    whole = path.read_bytes()
    accepted: list[int] = []
    for length in np.unique(np.linspace(0, len(whole) - 1, 40).astype(int)):
        path.write_bytes(whole[:length])
        with suppress(DataFileError):
            found = np.concatenate([chunk for chunk, _ in read(path, **FORMS[form][2]).chunks(7)])
            np.testing.assert_array_equal(found, X)  # the bytes that are missing were padding
            accepted.append(length)
    assert len(accepted) < 4


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith(("mat 4", "mat 5"))])
def test_damaged_files_are_refused_or_read_as_they_are(form: str, tmp_path: Path) -> None:
    """Not of MATLAB's old files: SciPy's reader can crash on those that are damaged."""
    rng = np.random.default_rng(0)
    path = written(form, tmp_path, rng.standard_normal((40, 5)).astype(np.float32))
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    refused = 0
    for _ in range(60):
        damaged = whole.copy()
        damaged[rng.integers(len(whole), size=3)] = rng.integers(256, size=3)
        path.write_bytes(damaged.tobytes())
        try:
            list(read(path, **FORMS[form][2]).chunks(7))
        except DataFileError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", [b"", b"\x00" * 600, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4])
def test_foreign_files_are_refused(form: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"foreign{FORMS[form][0]}"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="foreign"):
        read(path)


def test_other_endings_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"ends with one of \.npy, \.npz, \.mat"):
        read(tmp_path / "features.bin")
    with pytest.raises(DataFileError, match="no such file"):
        read(tmp_path / "features.npy")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    with pytest.raises(DataFileError, match="nothing in it can be features; it holds array object"):
        read(tmp_path / "objects.npy")


def test_matrices_without_rows_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    with pytest.raises(DataFileError, match=r"empty.npy: the matrix of features is empty, \(0, 3\)"):
        read(tmp_path / "empty.npy")


@pytest.mark.parametrize(("form", "package"), [("hdf5", "h5py"), ("mat 7.3", "h5py"), ("csv", "pyarrow")])
def test_a_missing_package_is_named_with_its_extra(
    form: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(form, tmp_path, np.ones((2, 2), np.float32))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}: pip install onlinehash\[data\]"):
        read(path, **FORMS[form][2])


@pytest.mark.parametrize("form", ["npy", "npz", "hdf5", "hdf5 in pieces", "parquet, fixed lists"])
def test_a_stream_does_not_hold_the_file(form: str, tmp_path: Path) -> None:
    X = np.ones((30_000, 64), np.float32)
    found = read(written(form, tmp_path, X))
    tracemalloc.start()
    total = sum(float(chunk.sum()) for chunk, _ in found.chunks(500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == X.size
    assert peak < X.nbytes / 4
