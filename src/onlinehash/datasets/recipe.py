"""What the recipes share: published annotations meet a file of features, and are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.datasets.contents import Key
from onlinehash.datasets.dataset import Dataset, Split
from onlinehash.datasets.reading import PathLike, open_file, oriented
from onlinehash.errors import DataFileError, InvalidInputError
from onlinehash.labels import Label, LabelRows


@dataclass(frozen=True, slots=True)
class Published:
    """The images of a collection in their published order, with the labels that are kept."""

    name: str
    number: dict[Label, int]  # which image an id means; empty if the list of images is not there
    labels: LabelRows


def check_counts(what: str, expected: dict[str, int], found: dict[str, int]) -> None:
    """Refuse counts other than the published ones, and say all that differ."""
    wrong = [
        f"expected {expected[unit]:,} {unit}, found {found[unit]:,}"
        for unit in expected
        if found[unit] != expected[unit]
    ]
    if wrong:
        raise DataFileError(
            f"{what}: {'; '.join(wrong)}. strict=False takes other files than the published ones"
        )


def join(
    published: Published,
    features: PathLike,
    ids: PathLike | Sequence[Label] | npt.NDArray[Any] | None,
    *,
    key: Key,
    transposed: bool | None,
    strict: bool,
) -> Dataset:
    """The features of the images that have a label, in the order of the file of features.

    Its rows are all images in published order, or only those with a label, or those that ``ids`` say.
    """
    labelled = np.flatnonzero(published.labels.labelled)
    contents = open_file(features)
    matrix = contents.features(key, None)
    images = None if ids is None else _images(published, ids)
    counts = {len(published.labels), len(labelled)} if images is None else {len(images)}
    source = oriented(matrix, counts, transposed, contents)
    if images is None:
        complete = source.shape[0] == len(published.labels)
        images = np.arange(len(published.labels)) if complete else labelled
    elif strict and len(missing := np.setdiff1d(labelled, images)):
        raise DataFileError(
            f"{published.name}: {contents.path} has no features of {len(missing):,} of the "
            f"{len(labelled):,} images with a label, for instance of {_name(published, missing[0])!r}"
        )
    labels = published.labels.take(images)
    whole = Dataset(source, labels, published.name)
    return whole if labels.labelled.all() else whole.select(np.flatnonzero(labels.labelled))


def split(data: Dataset, n_queries: int, random_state: Any, shuffle: bool) -> Split:
    """The split of a recipe, with a word on how many queries there may be."""
    if data.n <= n_queries:
        raise DataFileError(
            f"{data.name}: {data.n:,} images with a label are too few for {n_queries:,} queries; "
            "n_queries asks for fewer"
        )
    return data.split(n_queries, random_state=random_state, shuffle=shuffle)


def found_files(what: str, wanted: dict[str, list[Path]]) -> dict[str, Path]:
    """For each wanted file the first of its possible places that exists; all that are missing, named."""
    found = {
        name: next((place for place in places if place.exists()), None) for name, places in wanted.items()
    }
    missing = [
        f"{name} (looked for {', '.join(map(str, wanted[name]))})"
        for name, path in found.items()
        if path is None
    ]
    if missing:
        raise DataFileError(f"{what}: missing {'; '.join(missing)}")
    return {name: path for name, path in found.items() if path is not None}


def lines(path: Path) -> list[str]:
    """The lines of a text, without the blank ones and the spaces at their ends."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _images(published: Published, ids: Any) -> npt.NDArray[np.int64]:
    """Which image each row of features is."""
    number = published.number
    if not number:
        raise DataFileError(f"{published.name}: ids were given, but the published list of images is missing")
    given = _read_ids(ids)
    unknown = [name for name in given if name not in number]
    if unknown:
        raise DataFileError(
            f"{published.name}: {len(unknown):,} of {len(given):,} ids are not in the published list, "
            f"for instance {unknown[0]!r}; there they look like {next(iter(number))!r}"
        )
    images = np.array([number[name] for name in given], np.int64)
    distinct, counts = np.unique(images, return_counts=True)
    if len(distinct) < len(images):
        twice = _name(published, distinct[counts > 1][0])
        raise DataFileError(f"{published.name}: ids name some images twice, for instance {twice!r}")
    return images


def _read_ids(ids: Any) -> list[Label]:
    if isinstance(ids, (str, Path)):
        path = Path(ids)
        if path.suffix.lower() == ".txt":
            if not path.is_file():
                raise DataFileError(f"{path}: there is no such file")
            return [int(line) if line.isdecimal() else _slashes(line) for line in lines(path)]
        ids = open_file(path).labels(None, alone=True)
    values = ids if isinstance(ids, list) else np.asarray(ids)
    if not isinstance(values, list):
        if values.ndim == 2 and 1 in values.shape:
            values = values.ravel()
        if values.ndim != 1:
            raise InvalidInputError(f"ids: expected one id a row, got an array of shape {values.shape}")
        values = values.tolist()
    return [
        _slashes(value) if isinstance(value, str) else int(value) if value == int(value) else value
        for value in values
    ]


def _slashes(name: str) -> str:
    return name.replace("\\", "/")


def _name(published: Published, image: int) -> Label:
    return next(name for name, i in published.number.items() if i == image)
