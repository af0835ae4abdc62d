"""MS-COCO as the paper has it: all images of 2014 that have an instance of one of the 80 concepts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from onlinehash.datasets import recipe
from onlinehash.datasets.contents import Key
from onlinehash.datasets.dataset import Split
from onlinehash.datasets.reading import PathLike
from onlinehash.errors import DataFileError, InvalidInputError
from onlinehash.labels import Label, label_rows

FILES = ("instances_train2014.json", "instances_val2014.json")
COUNTS = {"images": 123_287, "images with a label": 122_218, "concepts": 80}

# All else in the annotation files, the outlines above all, is dropped as soon as it is parsed.
_WANTED = frozenset(
    {"images", "annotations", "categories", "id", "name", "file_name", "image_id", "category_id"}
)


def ms_coco(
    annotations: PathLike | Sequence[PathLike],
    features: PathLike,
    *,
    ids: PathLike | Sequence[Label] | npt.NDArray[Any] | None = None,
    key: Key = None,
    transposed: bool | None = None,
    n_queries: int = 4000,
    random_state: Any = None,
    shuffle: bool = True,
    strict: bool = True,
) -> Split:
    """MS-COCO: 122,218 images with a label, 80 concepts, 4,000 queries.

    Parameters
    ----------
    annotations : the folder with instances_train2014.json and instances_val2014.json (or with a folder
        "annotations" that has them), or the paths of the two
    features : a file with a row for each image: all 123,287 in the order of the two files' lists of
        "images", train first; or only the 122,218 with a label, in that order; or as ``ids`` say
    ids : for each row of features the image's number, or its "file_name"; an array or a file
        (of text, one a line, or of any form that ``read`` takes labels from)
    key, transposed : as for ``read``
    n_queries, random_state, shuffle : as for ``Dataset.split``
    strict : refuse counts other than the published ones
    """
    images: list[tuple[int, str]] = []  # number and file name
    labels: dict[int, list[str]] = {}
    concepts: dict[int, str] = {}
    for path in _paths(annotations):
        content = _parse(path)
        try:
            of_file = [(image["id"], image["file_name"]) for image in content["images"]]
            concepts |= {concept["id"]: concept["name"] for concept in content["categories"]}
            images += of_file
            for instance in content["annotations"]:
                labels.setdefault(instance["image_id"], []).append(concepts[instance["category_id"]])
        except (KeyError, TypeError) as error:
            raise DataFileError(f"{path}: not a COCO file of instances: {error!r}") from error
    known = {number for number, _ in images}
    if len(known) < len(images):
        raise DataFileError(f"MS-COCO: {len(images) - len(known)} images are in both annotation files")
    # A last row without labels: these are collections of labels, whatever their lengths.
    rows = label_rows([*(labels.get(number, []) for number, _ in images), None])[:-1]
    if strict:
        found = (len(images), int(rows.labelled.sum()), len(concepts))
        recipe.check_counts("MS-COCO", COUNTS, dict(zip(COUNTS, found, strict=True)))
    places: dict[Label, int] = {number: i for i, (number, _) in enumerate(images)}
    places |= {name: i for i, (_, name) in enumerate(images)}
    published = recipe.Published("MS-COCO", places, rows)
    data = recipe.join(published, features, ids, key=key, transposed=transposed, strict=strict)
    return recipe.split(data, n_queries, random_state, shuffle)


def _paths(annotations: PathLike | Sequence[PathLike]) -> list[Path]:
    if isinstance(annotations, (str, os.PathLike)):
        folder = Path(annotations)
        places = {name: [folder / name, folder / "annotations" / name] for name in FILES}
    else:
        given = [Path(path) for path in annotations]
        if len(given) != len(FILES):
            raise InvalidInputError(
                f"annotations: expected a folder or the paths of {' and '.join(FILES)}; got {len(given)}"
            )
        places = {name: [path] for name, path in zip(FILES, given, strict=True)}
    return list(recipe.found_files("MS-COCO", places).values())


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            content = json.load(file, object_hook=lambda found: {k: found[k] for k in _WANTED & found.keys()})
    except (ValueError, OSError) as error:
        raise DataFileError(f"{path}: truncated, or not JSON ({error})") from error
    if not isinstance(content, dict):
        raise DataFileError(f"{path}: not a COCO file of instances: expected an object")
    return content
