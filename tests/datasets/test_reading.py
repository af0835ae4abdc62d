"""Which arrays are taken, which way round, and what the labels say."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from onlinehash import DataFileError
from onlinehash.datasets import Dataset, read
from tests.datasets.writers import cells, csv, matlab73

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
CLASSES = [3, 1, 3, 2, 0, 1]
NAMES = ["cat", "dog", "cat", None, "sea", "dog"]
LISTS: list[list[Any]] = [["cat"], ["dog", "sea"], [], ["cat", "dog"], ["sea"], ["dog"]]
NUMBERS = [[0], [1], [0, 1], [1], [], [1, 0]]
HOT = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]])


def sets(data: Dataset) -> list[set[Any]]:
    assert data.labels is not None
    return [set(row) for row in data.labels.to_lists()]


def of(values: list[Any]) -> list[set[Any]]:
    """Labels as sets, a row each."""
    return [set() if v is None else set(v) if isinstance(v, list) else {v} for v in values]


HOT_SETS = of([np.flatnonzero(row).tolist() for row in HOT])


def mat5(path: Path, **variables: Any) -> None:
    scipy.io.savemat(path, {n: cells(v) if isinstance(v, list) else v for n, v in variables.items()})


def empty(values: list[Any]) -> list[Any]:
    """MATLAB has no None: an empty text stands for it."""
    return ["" if value is None else value for value in values]


@pytest.mark.parametrize("write", [mat5, matlab73])
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(CLASSES, float)[:, None], of(CLASSES)),
        (np.array(CLASSES, np.uint8)[None, :], of(CLASSES)),
        (HOT.astype(float), HOT_SETS),
        (HOT.T.astype(np.uint8), HOT_SETS),
        (HOT.astype(bool), HOT_SETS),
        (sp.csc_array(HOT.astype(float)), HOT_SETS),
        (sp.csc_array(HOT.T.astype(float)), HOT_SETS),
        (sp.csc_array((6, 3)), of([None] * 6)),
        (HOT[:, :1].astype(bool), of([[0], [], [], [0], [], []])),
        (empty(NAMES), of(NAMES)),
        (LISTS, of(LISTS)),
        ([np.array([row], float) for row in NUMBERS], of(NUMBERS)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_labels_in_mat_files_say_which_way_the_features_lie(
    write: Any, labels: Any, expected: Any, turned: bool, tmp_path: Path
) -> None:
    write(tmp_path / "both.mat", gnd=labels, fea=X.T if turned else X)
    data = read(tmp_path / "both.mat")
    assert (data.name, data.n, data.dim) == ("both", 6, 4)
    np.testing.assert_array_equal(data.rows(range(6))[0], X)
    assert sets(data) == expected


@pytest.mark.parametrize("write", [mat5, matlab73])
def test_a_mat_file_that_leaves_the_way_round_open_is_refused(write: Any, tmp_path: Path) -> None:
    write(tmp_path / "alone.mat", X=X)
    with pytest.raises(DataFileError, match=r"nothing tells whether the \(6, 4\) matrix"):
        read(tmp_path / "alone.mat")
    write(tmp_path / "square.mat", X=X[:4], label=np.ones((4, 1)))
    with pytest.raises(DataFileError, match=r"\(4, 4\) matrix may be its rows \(transposed=False\) or"):
        read(tmp_path / "square.mat")
    data = read(tmp_path / "square.mat", transposed=True)
    np.testing.assert_array_equal(data.rows(range(4))[0], X[:4].T)


def test_square_labels_lie_as_the_features_do(tmp_path: Path) -> None:
    hot = np.triu(np.ones((6, 6)))
    matlab73(tmp_path / "a.mat", X=X, y=hot)
    matlab73(tmp_path / "b.mat", X=X.T, y=hot.T)
    found = [
        read(tmp_path / "a.mat", transposed=False),
        read(tmp_path / "b.mat", transposed=True),
        read(tmp_path / "a.mat"),
        read(tmp_path / "b.mat"),
    ]
    assert [sets(data) for data in found] == [[set(range(i, 6)) for i in range(6)]] * 4


def test_matlab_text_keeps_its_letters(tmp_path: Path) -> None:
    for write in (mat5, matlab73):
        write(tmp_path / "text.mat", X=X, labels=["Käse", "海", "a b", "c", "d", "e"])
        assert sets(read(tmp_path / "text.mat"))[:3] == [{"Käse"}, {"海"}, {"a b"}]
    scipy.io.savemat(tmp_path / "rows.mat", {"X": X, "y": np.array(["cat", "horse", "cat", "a", "b", "c"])})
    assert sets(read(tmp_path / "rows.mat"))[1] == {"horse"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(CLASSES), of(CLASSES)),
        (np.array(CLASSES)[:, None], of(CLASSES)),
        (np.array(CLASSES, np.float32), of(CLASSES)),
        (np.array(["cat", "dog", "é", "a", "b", "c"]), of(["cat", "dog", "é", "a", "b", "c"])),
        (np.char.encode(["cat", "dog", "é", "a", "b", ""], "utf-8"), of(["cat", "dog", "é", "a", "b", None])),
        (HOT, HOT_SETS),
        (HOT.astype(bool), HOT_SETS),
        (HOT.T.astype(np.float16), HOT_SETS),
    ],
)  # fmt: skip
def test_labels_in_numpy_files(labels: Any, expected: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", labels)
    np.savez(tmp_path / "both.npz", features=X, labels=labels)
    np.savez_compressed(tmp_path / "packed.npz", a=X, b=labels)
    assert sets(read(tmp_path / "x.npy", tmp_path / "y.npy")) == expected
    assert sets(read(tmp_path / "both.npz")) == expected
    assert sets(read(tmp_path / "packed.npz", key="a", label_key="b")) == expected
    np.save(tmp_path / "turned.npy", X.T)
    turned = read(tmp_path / "turned.npy", tmp_path / "y.npy", name="told by the labels")
    np.testing.assert_array_equal(turned.rows(range(6))[0], X)
    assert turned.name == "told by the labels"


def test_labels_in_hdf5(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["train/features"] = X
        file["hot"], file["classes"] = HOT, CLASSES
        file["names"] = ["cat", "dog", "cat", "", "sea", "dog"]
        lists = file.create_dataset("lists", (6,), h5py.vlen_dtype(np.int64))
        for i, row in enumerate(NUMBERS):
            lists[i] = row
    expected = {
        "hot": HOT_SETS,
        "classes": of(CLASSES),
        "names": of(NAMES),
        "lists": of(NUMBERS),
        None: of(CLASSES),
    }
    for key, labels in expected.items():
        assert sets(read(tmp_path / "f.h5", label_key=key)) == labels


def test_labels_in_tables(tmp_path: Path) -> None:
    both = {"id": range(6), "label": NAMES, "a": X[:, 0], "b": X[:, 1]}
    pq.write_table(pa.table(both), tmp_path / "both.parquet")
    csv(tmp_path / "both.csv", both)
    for ending in ("parquet", "csv"):
        data = read(tmp_path / f"both.{ending}")
        assert sets(data) == of(NAMES)
        np.testing.assert_array_equal(data.rows(range(6))[0], X[:, :2])
        one = read(tmp_path / f"both.{ending}", key=["b"])
        np.testing.assert_array_equal(one.rows(range(6))[0], X[:, 1:2])
    vectors = {"vector": X.tolist(), "tags": NUMBERS, "more": LISTS, **{f"h{j}": HOT[:, j] for j in range(3)}}
    pq.write_table(pa.table(vectors), tmp_path / "vectors.parquet")
    path = tmp_path / "vectors.parquet"
    assert sets(read(path, key="vector")) == of(NUMBERS)
    assert sets(read(path, key="vector", label_key="more")) == of(LISTS)
    assert sets(read(path, key="vector", label_key=["h0", "h1", "h2"])) == HOT_SETS
    csv(tmp_path / "hot.csv", {f"{j}": HOT[:, j] for j in range(3)}, header=False)
    csv(tmp_path / "class.csv", {"id": range(6), "class": CLASSES, "other": NAMES})
    np.save(tmp_path / "x.npy", X)
    assert sets(read(tmp_path / "x.npy", tmp_path / "hot.csv")) == HOT_SETS
    assert sets(read(tmp_path / "x.npy", tmp_path / "class.csv")) == of(CLASSES)


def test_lists_of_0_and_1_are_lists_of_labels(tmp_path: Path) -> None:
    pairs = [[0, 1], [1, 0], [0, 0], [1, 1], [0, 1], [1, 1]]
    pq.write_table(pa.table({"x": X.tolist(), "labels": pairs}), tmp_path / "f.parquet")
    assert sets(read(tmp_path / "f.parquet", key="x")) == of(pairs)


def test_sparse_labels_may_have_a_file_of_their_own(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    for write in (mat5, matlab73):
        write(tmp_path / "y.mat", L81=sp.csc_array(HOT.astype(float)))
        assert sets(read(tmp_path / "x.npy", tmp_path / "y.mat")) == HOT_SETS


def test_arrays_are_picked_by_name_or_refused_with_a_list(tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    np.savez(path, a=X, b=X + 1, n=np.arange(6))
    with pytest.raises(DataFileError, match=r"features, say which with key: a float32 \(6, 4\), b float32"):
        read(path)
    np.testing.assert_array_equal(read(path, key="b").rows([2])[0], X[[2]] + 1)
    with pytest.raises(DataFileError, match=r"nothing is named key='c'; it holds a float32 \(6, 4\), b "):
        read(path, key="c")
    with pytest.raises(DataFileError, match=r"must be a matrix of numbers, but there is n int64 \(6,\)"):
        read(path, key="n")
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataFileError, match=r"may be the labels, say which with label_key: a .*, n int64"):
        read(tmp_path / "x.npy", path)
    assert sets(read(tmp_path / "x.npy", path, label_key="n")) == of(list(range(6)))
    np.savez(path, Features=X, other=X, Y=HOT, z=HOT)
    assert sets(read(path)) == HOT_SETS
    np.savez(path, a=X, b=HOT)
    assert sets(read(path, label_key="b")) == HOT_SETS
    np.savez(path, X=X, features=X)
    with pytest.raises(DataFileError, match="say which with key"):
        read(path)
    np.savez(path, X=X, labels=CLASSES, tags=HOT)
    with pytest.raises(DataFileError, match=r"say which with label_key: labels .*, tags"):
        read(path)
    with pytest.raises(DataFileError, match="cannot be both features and labels"):
        read(path, key="X", label_key="X")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [1.0], "species": ["cat"]}, {}, "column 'species' is not numbers; name the features with key"),
        ({"id": [1]}, {}, "no column is left for features"),
        ({"v": [[1.0]], "w": [[2.0]]}, {}, "several columns of vectors, say which with key"),
        ({"v": [[1.0], [1.0, 2.0]]}, {}, r"different lengths, \[1, 2\]"),
        ({"v": [[1.0], None]}, {}, r"different lengths, \[None, 1\]"),
        ({"v": pa.array([[], []], pa.list_(pa.float32()))}, {}, r"matrix of features is empty, \(2, 0\)"),
        ({"a": [1.0], "label": [1], "tags": [2]}, {}, r"any of \['label', 'tags'\] may be the labels"),
        ({"a": [1.0]}, {"key": "b"}, r"no column is named key='b'; its columns are a \(double\)"),
        ({"a": [1.0]}, {"label_key": []}, r"no column is named label_key=\[\]"),
        ({"a": [1.0]}, {"transposed": True}, "a row of a table is an item"),
        ({"a": [1.0], "label": [0.5]}, {}, "a label must be a str or an int, got 0.5"),
    ],
)  # fmt: skip
def test_tables_that_leave_something_open_are_refused(
    columns: Any, options: Any, message: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataFileError, match=message):
        list(read(tmp_path / "t.parquet", **options).chunks(10))


def test_columns_come_in_the_order_asked_for(tmp_path: Path) -> None:
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    csv(tmp_path / "t.csv", columns)
    for ending in ("parquet", "csv"):
        data = read(tmp_path / f"t.{ending}", key=["d", "b"])
        np.testing.assert_array_equal(data.rows(range(6))[0], X[:, [3, 1]])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b,c\n1,2,3\n", [[1, 2, 3]]),
        ("0,1,2\n5,6,7\n", [[5, 6, 7]]),
        ("0,1\n5,6\n", [[0, 1], [5, 6]]),
        ("1,2,3\n5,6,7\n", [[1, 2, 3], [5, 6, 7]]),
        ("1,2,c\n5,6,7\n", [[5, 6, 7]]),
    ],
)
def test_the_first_line_of_a_csv_file(text: str, rows: list[list[int]], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = read(tmp_path / "t.csv")
    assert found.rows(range(found.n))[0].tolist() == rows


def test_a_value_missing_in_the_first_line_of_a_csv_file_does_not_make_it_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,,3\n5,6,7\n")
    with pytest.raises(DataFileError, match="row 0 of the file has a value that is missing"):
        next(read(tmp_path / "t.csv").chunks(2))


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    csv(tmp_path / "t.csv", {f"c{j}": [j] for j in range(15)})
    with pytest.raises(DataFileError, match=r"c11 \(int64\), and 3 more$"):
        read(tmp_path / "t.csv", key="x")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(5), r"x.npy: expected features of 5 items, got a matrix of \(6, 4\)"),
        (np.ones((7, 3)), r"expected features of 3 or 7 items, got a matrix of \(6, 4\)"),
        (np.full((6, 3), 2), r"y.npy: labels in a form that is not understood"),
        (np.full(6, 0.5), r"y.npy: labels in a form that is not understood"),
        (np.ones((2, 2, 2)), r"nothing in it can be labels; it holds array float64 \(2, 2, 2\)"),
        (np.ones((4, 6)), r"the items of the \(6, 4\) matrix may be its rows"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", labels)
    with pytest.raises(DataFileError, match=message):
        read(tmp_path / "x.npy", tmp_path / "y.npy")


def test_cells_in_two_dimensions_and_structs_are_refused(tmp_path: Path) -> None:
    two = np.empty((3, 2), object)
    two[:] = "a"
    scipy.io.savemat(tmp_path / "m.mat", {"X": X, "y": two, "imdb": {"data": X}})
    with pytest.raises(DataFileError, match=r"a vector of cells, y is \(3, 2\)"):
        read(tmp_path / "m.mat")
    with pytest.raises(DataFileError, match=r"must be a matrix of numbers, but there is imdb struct"):
        read(tmp_path / "m.mat", key="imdb")


def test_matlab_73_structs_are_reached_by_their_path(tmp_path: Path) -> None:
    matlab73(tmp_path / "m.mat", unused=np.ones(3))
    with h5py.File(tmp_path / "m.mat", "a") as file:
        group = file.create_group("imdb")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        group["X"], group["labels"] = X.T, HOT.T
        for node in group.values():
            node.attrs["MATLAB_class"] = np.bytes_("double")
    data = read(tmp_path / "m.mat")
    np.testing.assert_array_equal(data.rows(range(6))[0], X)
    assert sets(data) == HOT_SETS
