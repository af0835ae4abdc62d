import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import DataFileError, InvalidInputError
from onlinehash.datasets import Split, coco, ms_coco

CONCEPTS = [
    {"id": i, "name": name, "supercategory": "any"} for i, name in ((1, "person"), (3, "car"), (90, "dog"))
]
# Image number → the categories of its instances; images without any are published, too.
TRAIN = {9: [1, 1], 25: [], 30: [3], 34: [90, 1]}
VAL = {42: [], 73: [3, 90], 74: [1]}
LABELS: dict[int, set[str]] = {
    9: {"person"}, 30: {"car"}, 34: {"dog", "person"}, 73: {"car", "dog"}, 74: {"person"}
}  # fmt: skip
ALL = [*TRAIN, *VAL]
X = np.array([[number, -number] for number in ALL], np.float32)


def file_name(number: int) -> str:
    return f"COCO_{'train' if number in TRAIN else 'val'}2014_{number:012}.jpg"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, images in zip(coco.FILES, (TRAIN, VAL), strict=True):
        instances = [(image, category) for image, of_image in images.items() for category in of_image]
        content = {
            "info": {"year": 2014},
            "licenses": [{"id": 1, "name": "any"}],
            "images": [{"id": i, "file_name": file_name(i), "width": 9, "license": 1} for i in images],
            "annotations": [
                {
                    "id": number,
                    "image_id": image,
                    "category_id": category,
                    "segmentation": {"counts": [1, 2], "size": [3, 3]} if number else [[0.5, 1.5]],
                    "bbox": [0, 0, 1, 1],
                }
                for number, (image, category) in enumerate(reversed(instances))
            ],
            "categories": CONCEPTS,
        }
        (tmp_path / name).write_text(json.dumps(content))
    np.save(tmp_path / "features.npy", X)
    return tmp_path


def recipe(folder: Path, features: Any = "features.npy", **options: Any) -> Split:
    options = {"strict": False, "n_queries": 2, "random_state": 0, **options}
    return ms_coco(folder, folder / features, **options)


def found(split: Split) -> dict[int, set[Any]]:
    """Labels by image, as the rows of features tell which image they are."""
    rows, labels = split.whole.rows(np.arange(split.whole.n))
    assert labels is not None
    return {int(row[0]): set(names) for row, names in zip(rows, labels.to_lists(), strict=True)}


def test_images_without_a_label_are_left_out(folder: Path) -> None:
    split = recipe(folder)
    assert found(split) == LABELS
    assert (split.whole.name, split.whole.n, split.stream.n, split.queries.n) == ("MS-COCO", 5, 3, 2)
    assert not {row[0] for row in split.stream.rows(range(3))[0]} & {
        row[0] for row in split.queries.rows(range(2))[0]
    }


def test_the_features_may_be_of_labelled_images_only(folder: Path) -> None:
    np.save(folder / "labelled.npy", X[[number in LABELS for number in ALL]])
    assert found(recipe(folder, "labelled.npy")) == LABELS
    np.save(folder / "turned.npy", X.T)
    assert found(recipe(folder, "turned.npy")) == LABELS
    np.save(folder / "wrong.npy", X[:4])
    with pytest.raises(
        DataFileError, match=r"wrong.npy: expected features of 5 or 7 items, got a .* \(4, 2\)"
    ):
        recipe(folder, "wrong.npy")


def test_ids_say_which_image_a_row_is(folder: Path) -> None:
    order = np.random.default_rng(0).permutation(len(ALL))
    numbers = [ALL[i] for i in order]
    names = [file_name(number) for number in numbers]
    np.save(folder / "mixed.npy", X[order])
    np.save(folder / "ids.npy", numbers)
    (folder / "ids.txt").write_text("\n".join(names))
    for ids in (numbers, names, np.array(numbers, float), folder / "ids.npy", folder / "ids.txt"):
        assert found(recipe(folder, "mixed.npy", ids=ids)) == LABELS
    some = numbers[:5]
    np.save(folder / "some.npy", X[order][:5])
    assert found(recipe(folder, "some.npy", ids=some, n_queries=1)) == {
        number: LABELS[number] for number in some if number in LABELS
    }
    with pytest.raises(
        DataFileError, match=r"1 of 7 ids are not in the published list, for instance 5; there"
    ):
        recipe(folder, "mixed.npy", ids=[5, *numbers[1:]])
    with pytest.raises(DataFileError, match="ids name some images twice"):
        recipe(folder, "mixed.npy", ids=[numbers[1], *numbers[1:]])
    with pytest.raises(DataFileError, match="expected features of 6 items"):
        recipe(folder, "mixed.npy", ids=numbers[1:])
    with pytest.raises(DataFileError, match=r"ids.text|no such file"):
        recipe(folder, "mixed.npy", ids=folder / "missing.txt")
    with pytest.raises(InvalidInputError, match="ids: expected one id a row"):
        recipe(folder, "mixed.npy", ids=np.ones((2, 2)))


def test_other_counts_than_the_published_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = (
        "expected 123,287 images, found 7; expected 122,218 images with a label, found 5; "
        "expected 80 concepts, found 3. strict=False takes other files"
    )
    with pytest.raises(DataFileError, match=message):
        recipe(folder, strict=True)
    monkeypatch.setattr(coco, "COUNTS", {"images": 7, "images with a label": 5, "concepts": 3})
    assert found(recipe(folder, strict=True)) == LABELS
    np.save(folder / "some.npy", X[:4])
    with pytest.raises(
        DataFileError, match="no features of 2 of the 5 images with a label, for instance of 73"
    ):
        recipe(folder, "some.npy", ids=ALL[:4], strict=True)
    with pytest.raises(DataFileError, match="5 images with a label are too few for 5 queries"):
        recipe(folder, n_queries=5)


def test_the_two_files_are_found_or_named(folder: Path, tmp_path: Path) -> None:
    train, val = (folder / name for name in coco.FILES)
    assert found(ms_coco([train, val], folder / "features.npy", n_queries=2, strict=False)) == LABELS
    with pytest.raises(InvalidInputError, match=r"or the paths of instances_train2014.json and .* got 1"):
        ms_coco([train], folder / "features.npy")
    with pytest.raises(DataFileError, match="MS-COCO: 4 images are in both annotation files"):
        ms_coco([train, train], folder / "features.npy")
    inner = folder / "annotations"
    inner.mkdir()
    train.rename(inner / train.name)
    val.rename(inner / val.name)
    assert found(recipe(folder)) == LABELS
    (inner / val.name).unlink()
    with pytest.raises(DataFileError, match=r"missing instances_val2014.json \(looked for .*annotations"):
        recipe(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"images": [', "truncated, or not JSON"),
        ("[]", "expected an object"),
        ("{}", "not a COCO file of instances: KeyError"),
        ('{"images": [], "categories": [], "annotations": [{"image_id": 1, "category_id": 5}]}', "KeyError"),
        ('{"images": [1], "categories": [], "annotations": []}', "TypeError"),
    ],
)  # fmt: skip
def test_foreign_annotations_are_refused(folder: Path, content: str, message: str) -> None:
    (folder / coco.FILES[1]).write_text(content)
    with pytest.raises(DataFileError, match=f"instances_val2014.json: .*{message}"):
        recipe(folder)
