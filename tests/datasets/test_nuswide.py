from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import DataFileError
from onlinehash.datasets import Split, nus_wide

N_IMAGES = 60
NAMES = [f"actor\\{i:04}_{i * 7919}.jpg" for i in range(N_IMAGES)]
X = np.arange(N_IMAGES, dtype=np.float32)[:, None] * [1, -1, 1]
# 24 concepts: image i has c0 to c20 by turns; a21 and a22 are rare, and c23 as frequent as c19, c20.
COLUMNS = {f"c{j:02}": [int(i < 50 and i % 21 == j) for i in range(N_IMAGES)] for j in range(21)}
COLUMNS |= {"a21": [int(i == 55) for i in range(N_IMAGES)], "a22": [int(i == 3) for i in range(N_IMAGES)]}
COLUMNS["c23"] = [int(i in (3, 56)) for i in range(N_IMAGES)]
# By frequency, then alphabet: c00 to c20; what only rarer concepts describe is left out.
LABELS = {i: {f"c{i % 21:02}"} for i in range(50)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    labels = tmp_path / "Groundtruth" / "AllLabels"
    labels.mkdir(parents=True)
    for name, column in COLUMNS.items():
        (labels / f"Labels_{name}.txt").write_text("".join(f"{value}\n" for value in column))
    (tmp_path / "ImageList").mkdir()
    (tmp_path / "ImageList" / "Imagelist.txt").write_text("".join(f"{name} \r\n" for name in NAMES))
    np.save(tmp_path / "features.npy", X)
    return tmp_path


def recipe(folder: Path, features: Any = "features.npy", **options: Any) -> Split:
    return nus_wide(
        folder, folder / features, **{"strict": False, "n_queries": 10, "random_state": 0, **options}
    )


def found(split: Split) -> dict[int, set[Any]]:
    rows, labels = split.whole.rows(np.arange(split.whole.n))
    assert labels is not None
    return {int(row[0]): set(names) for row, names in zip(rows, labels.to_lists(), strict=True)}


def test_the_most_frequent_concepts_are_kept(folder: Path) -> None:
    split = recipe(folder)
    assert found(split) == LABELS
    assert (split.whole.name, split.whole.n, split.stream.n, split.queries.n) == ("NUS-WIDE", 50, 40, 10)
    again = recipe(folder)
    np.testing.assert_array_equal(again.queries.rows(range(10))[0], split.queries.rows(range(10))[0])


@pytest.mark.parametrize("where", ["Groundtruth", "Groundtruth/AllLabels"])
def test_the_labels_may_be_given_by_their_own_folder(folder: Path, where: str) -> None:
    split = nus_wide(folder / where, folder / "features.npy", n_queries=10, strict=False)
    assert found(split) == LABELS
    with pytest.raises(DataFileError, match=r"NUS-WIDE: missing the list of images Imagelist.txt"):
        nus_wide(folder / where, folder / "features.npy", n_queries=10, strict=False, ids=NAMES)
    given = nus_wide(
        folder / where,
        folder / "features.npy",
        image_list=folder / "ImageList" / "Imagelist.txt",
        n_queries=10,
        strict=False,
        ids=NAMES,
    )
    assert found(given) == LABELS


def test_ids_say_which_image_a_row_is(folder: Path) -> None:
    order = np.random.default_rng(0).permutation(N_IMAGES)
    names = [NAMES[i] for i in order]
    np.save(folder / "mixed.npy", X[order])
    (folder / "ids.txt").write_text("\n".join(names))
    for ids in (names, [name.replace("\\", "/") for name in names], folder / "ids.txt"):
        assert found(recipe(folder, "mixed.npy", ids=ids)) == LABELS
    with pytest.raises(DataFileError, match=r"for instance '1.jpg'; there they look like 'actor/0000_0.jpg'"):
        recipe(folder, "mixed.npy", ids=["1.jpg", *names[1:]])


def test_the_features_may_be_of_the_kept_images_only(folder: Path) -> None:
    np.save(folder / "kept.npy", X[:50])
    assert found(recipe(folder, "kept.npy")) == LABELS


def test_other_counts_than_the_published_are_refused(folder: Path) -> None:
    message = (
        "NUS-WIDE: expected 269,648 images, found 60; expected 81 concepts, found 24; "
        "expected 195,834 images with one of the most frequent concepts, found 50"
    )
    with pytest.raises(DataFileError, match=message):
        recipe(folder, strict=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("Labels_c05.txt", "0\n" * 59, "Labels_c05.txt: expected 60 lines, .* got 59: truncated"),
        ("Labels_c05.txt", "", "expected a line of 0 or 1 for each image, got an empty file"),
        ("Labels_c05.txt", "0\n1\n-1\n", "Labels_c05.txt: expected .*, got '-1', line 3"),
        ("Labels_c05_Train.txt", "0\n", "Train.txt is of one part only; expected the folder AllLabels"),
        ("../../ImageList/Imagelist.txt", "a.jpg\n", "expected 60 images, as the labels have, got 1"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_refused(folder: Path, name: str, content: str, message: str) -> None:
    (folder / "Groundtruth" / "AllLabels" / name).write_text(content)
    with pytest.raises(DataFileError, match=message):
        recipe(folder)


def test_a_missing_ground_truth_is_named_with_all_places(tmp_path: Path) -> None:
    with pytest.raises(
        DataFileError, match=r"missing the ground truth Labels_\*\.txt .*Groundtruth/AllLabels"
    ):
        nus_wide(tmp_path, tmp_path / "features.npy")
