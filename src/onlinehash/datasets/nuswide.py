"""NUS-WIDE as the paper has it: the images with one of the 21 most frequent concepts.

The labels are those of the ground truth. (The users' tags, of the same 81 words, leave 89,528 images.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.datasets import recipe
from onlinehash.datasets.contents import Key
from onlinehash.datasets.dataset import Split
from onlinehash.datasets.reading import PathLike
from onlinehash.errors import DataFileError
from onlinehash.labels import Label, LabelRows, label_rows

COUNTS = {"images": 269_648, "concepts": 81, "images with one of the most frequent concepts": 195_834}
N_CONCEPTS = 21


def nus_wide(
    annotations: PathLike,
    features: PathLike,
    *,
    image_list: PathLike | None = None,
    ids: PathLike | Sequence[Label] | npt.NDArray[Any] | None = None,
    key: Key = None,
    transposed: bool | None = None,
    n_queries: int = 2000,
    random_state: Any = None,
    shuffle: bool = True,
    strict: bool = True,
) -> Split:
    """NUS-WIDE: 195,834 images, the 21 most frequent concepts by ground truth, 2,000 queries.

    Parameters
    ----------
    annotations : the folder with Labels_airport.txt and so on, of each concept one, or a folder that
        has it as "AllLabels" or "Groundtruth/AllLabels"
    features : a file with a row for each image: all 269,648 in the order of Imagelist.txt; or only the
        195,834 that are kept, in that order; or as ``ids`` say
    image_list : the path of Imagelist.txt, needed for ``ids`` only; otherwise it is looked for in
        ``annotations`` and in its folder "ImageList"
    ids : for each row of features the image's line in Imagelist.txt ("actor/0001_2124494179.jpg", with
        either slash); an array or a file (of text, one a line, or any that ``read`` takes labels from)
    key, transposed : as for ``read``
    n_queries, random_state, shuffle : as for ``Dataset.split``
    strict : refuse counts other than the published ones
    """
    folder = Path(annotations)
    concepts = _concepts(folder)
    columns = {name: _column(path) for name, path in concepts.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        longest = max(lengths.values())
        short = next(name for name, length in lengths.items() if length < longest)
        raise DataFileError(
            f"{concepts[short]}: expected {longest:,} lines, as the longest file of labels has, "
            f"got {lengths[short]:,}: truncated?"
        )
    # The most frequent first; of equally frequent ones, the first in the alphabet.
    kept = sorted(columns, key=lambda name: (-int(columns[name].sum()), name))[:N_CONCEPTS]
    multi_hot = np.column_stack([columns[name] for name in kept])
    numbered = label_rows(multi_hot)
    labels = LabelRows(tuple(kept), numbered.indices, numbered.starts)
    if strict:
        found = (len(labels), len(concepts), int(labels.labelled.sum()))
        recipe.check_counts("NUS-WIDE", COUNTS, dict(zip(COUNTS, found, strict=True)))
    number = _image_numbers(folder, image_list, len(labels), needed=ids is not None)
    published = recipe.Published("NUS-WIDE", number, labels)
    data = recipe.join(published, features, ids, key=key, transposed=transposed, strict=strict)
    return recipe.split(data, n_queries, random_state, shuffle)


def _concepts(folder: Path) -> dict[str, Path]:
    """The file of each concept, in alphabetical order."""
    places = [folder, folder / "AllLabels", folder / "Groundtruth" / "AllLabels"]
    for place in places:
        files = sorted(place.glob("Labels_*.txt"))
        if files:
            names = {path.stem.removeprefix("Labels_"): path for path in files}
            parts = [name for name in names if name.endswith(("_Train", "_Test"))]
            if parts:
                raise DataFileError(
                    f"{place}: Labels_{parts[0]}.txt is of one part only; expected the folder AllLabels, "
                    "where each file is of all images"
                )
            return names
    raise DataFileError(
        "NUS-WIDE: missing the ground truth Labels_*.txt (AllLabels, in the published Groundtruth), "
        f"looked for in {', '.join(map(str, places))}"
    )


def _column(path: Path) -> npt.NDArray[np.bool_]:
    """Whether each image has the concept: the file is a line of 0 or 1 an image."""
    try:
        lines = np.array(path.read_bytes().split())
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error})") from error
    column: npt.NDArray[np.bool_] = lines == b"1"
    wrong = np.flatnonzero(~column & (lines != b"0")) if len(lines) else np.array([0])
    if len(wrong):
        what = repr(lines[wrong[0]].decode(errors="replace")) if len(lines) else "an empty file"
        raise DataFileError(
            f"{path}: expected a line of 0 or 1 for each image, got {what}, line {wrong[0] + 1}"
        )
    return column


def _image_numbers(
    folder: Path, image_list: PathLike | None, n_images: int, needed: bool
) -> dict[Label, int]:
    """The place of each image in the published list; empty if the list is neither there nor needed."""
    places = (
        [Path(image_list)]
        if image_list is not None
        else [
            folder / "ImageList" / "Imagelist.txt",
            folder / "Imagelist.txt",
            folder / "ImageList" / "ImageList.txt",
            folder / "ImageList.txt",
        ]
    )
    if not needed and image_list is None and not any(place.exists() for place in places):
        return {}
    path = recipe.found_files("NUS-WIDE", {"the list of images Imagelist.txt": places})[
        "the list of images Imagelist.txt"
    ]
    names = [name.replace("\\", "/") for name in recipe.lines(path)]
    if len(names) != n_images:
        raise DataFileError(f"{path}: expected {n_images:,} images, as the labels have, got {len(names):,}")
    return {name: i for i, name in enumerate(names)}
