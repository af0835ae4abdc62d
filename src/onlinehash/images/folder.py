"""A folder of pictures into an index: what is new, and what has changed since."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.images.embedder import Embedder, Floats
from onlinehash.images.find import Found, Skipped, find
from onlinehash.images.picture import UnusableError, quiet, read_picture, thumbnail
from onlinehash.index.index import Index
from onlinehash.index.results import Item
from onlinehash.kernels.threads import n_cores

LABELS = ("folders", "keywords")
_BATCH = 64  # pictures that are added together
_ASKED = 500  # ids that are asked for together


@dataclass(slots=True)
class Report:
    """What became of a folder's pictures."""

    added: int = 0
    replaced: int = 0  # their files have changed
    unchanged: int = 0  # there already
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Embedded:
    item: Item
    vector: Floats


def add_folder(
    index: Index, folder: str | os.PathLike[str], *, embedder: Embedder | None = None,
    labels: Collection[str] = (), learn: bool = False, thumbnails: int = 160, workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:  # fmt: skip
    """Embed the pictures of a folder and add them; what is there already is not embedded again.

    Ids are paths relative to the folder. The payload says the ``path``, ``size`` and ``mtime`` of the
    file, ``width`` and ``height``, the ``model``, the ``keywords`` found in the file, and a
    ``thumbnail`` of that many pixels as a data URI (0: none). Files whose size or time has changed are
    replaced. ``labels`` may have "folders", the names of the folders that a picture lies in, and
    "keywords"; with ``learn`` they are learnt from, too. What cannot be used is in the report.

    After an interruption the next call goes on. ``on_progress`` is called with how many
    pictures are done, and of how many.
    """
    wrong = [name for name in labels if name not in LABELS]
    if wrong or isinstance(labels, str):
        raise InvalidParameterError(f"labels: expected any of {', '.join(LABELS)}, got {labels!r}")
    embedder = embedder or Embedder()
    _check_model(index, embedder)
    root = Path(folder).absolute()
    found, skipped = find(root)
    report = Report(skipped=skipped)
    todo = list(_todo(index, found, report))

    def embed(one: Found) -> _Embedded | Skipped:
        try:
            return _embedded(one, embedder, labels, thumbnails)
        except UnusableError as error:
            return Skipped(str(one.path), str(error))

    batch: list[_Embedded] = []
    try:
        with quiet():
            for done, one in enumerate(_side_by_side(embed, todo, workers or n_cores()), 1):
                if isinstance(one, Skipped):
                    report.skipped.append(one)
                else:
                    batch.append(one)
                if len(batch) == _BATCH:
                    full, batch = batch, []
                    _add(index, full, learn, report)
                if on_progress is not None:
                    on_progress(done, len(todo))
    finally:  # of an interruption, too
        if batch:
            _add(index, batch, learn, report)
    return report


def _check_model(index: Index, embedder: Embedder) -> None:
    """Vectors of two models do not compare."""
    if index.dim != embedder.dim:
        raise InvalidInputError(
            f"the index takes vectors of {index.dim} features, but {embedder.name} gives {embedder.dim}"
        )
    others = index.items(where={"model": {"exists": True}, "$not": {"model": embedder.name}}, limit=1).items
    if others:
        raise InvalidInputError(
            f"{others[0].id!r} was embedded by {(others[0].payload or {})['model']}, not by {embedder.name}: "
            "vectors of two models cannot be compared"
        )


def _todo(index: Index, found: list[Found], report: Report) -> Iterator[Found]:
    """Pictures that are new or have changed."""
    for start in range(0, len(found), _ASKED):
        part = found[start : start + _ASKED]
        page = index.items(where={"$id": [one.id for one in part]}, limit=_ASKED).items
        there = {item.id: item.payload or {} for item in page}
        for one in part:
            payload = there.get(one.id)
            if payload is None:
                yield one
            elif (payload.get("size"), payload.get("mtime")) == (one.size, one.mtime):
                report.unchanged += 1
            elif payload.get("path") == str(one.path):
                yield one
            else:
                reason = f"the index has another item of the id {one.id!r}"
                report.skipped.append(Skipped(str(one.path), reason))


def _embedded(one: Found, embedder: Embedder, labels: Collection[str], thumbnails: int) -> _Embedded:
    picture = read_picture(one.path, max(embedder.least, 2 * thumbnails))
    vector = embedder.vector(picture.image)
    if not np.isfinite(vector).all():
        raise UnusableError("the model's answer has a value that is NaN or infinite")
    payload: dict[str, Any] = {
        "path": str(one.path), "size": one.size, "mtime": one.mtime, "width": picture.width,
        "height": picture.height, "model": embedder.name,
    }  # fmt: skip
    if picture.keywords:
        payload["keywords"] = picture.keywords
    if thumbnails:
        payload["thumbnail"] = thumbnail(picture.image, thumbnails)
    words = list(Path(one.id).parent.parts) if "folders" in labels else []
    words += picture.keywords if "keywords" in labels else []
    return _Embedded(Item(one.id, payload, list(dict.fromkeys(words))), vector)


def _side_by_side(
    work: Callable[[Found], _Embedded | Skipped], todo: list[Found], workers: int
) -> Iterator[_Embedded | Skipped]:
    """``map`` on threads, in order, a few ahead: memory does not grow with the folder."""
    ahead: deque[Future[_Embedded | Skipped]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for one in todo:
                ahead.append(pool.submit(work, one))
                if len(ahead) > 4 * workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def _add(index: Index, batch: list[_Embedded], learn: bool, report: Report) -> None:
    ids = [one.item.id for one in batch]
    before = len(index)
    X = np.stack([one.vector for one in batch])
    labels = [one.item.labels for one in batch]
    index.add(ids, X, labels, [one.item.payload for one in batch], replace=True)
    new = len(index) - before
    report.added += new
    report.replaced += len(batch) - new
    if learn and any(labels):
        index.learn(X, labels, wait=False)
