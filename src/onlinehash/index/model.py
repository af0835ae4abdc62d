"""A hasher as the store keeps it: the base hash, what was learnt, and the lessons since that was written.

What was learnt may be tens of megabytes, and a lesson is often one row. So a lesson is written as the
rows that were learnt from, and all that was learnt is written again when the lessons have become many.
Whoever opens the file learns from the lessons again, in the same steps, and so comes to the same codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import IndexFileError, ModelFileError
from onlinehash.hashers import model_file
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.snapshot import Floats
from onlinehash.index.store import Lesson, Model, Rows
from onlinehash.labels import LabelRows

_FIXED = ("centre", "W", "b")
_NAME, _LESSON = "OHWEU", "lesson"


@dataclass(frozen=True, slots=True, eq=False)
class CodeRows:
    """Stored items that are learnt from."""

    codes: Packed
    labels: LabelRows
    vectors: Floats | None


def to_model(hasher: OHWEU, generation: int, first: bool) -> Model:
    """To be written first, or again."""
    arrays, content = hasher.state()
    L, labels = arrays.pop("L"), content["learnt"].pop("labels")
    fixed = {name: arrays.pop(name) for name in _FIXED}
    return Model(
        model_file.to_bytes(_NAME, fixed, {}) if first else None,
        model_file.to_bytes(_NAME, arrays, content | {"generation": generation}),
        [(label, row.astype("<f4").tobytes()) for label, row in zip(labels, L, strict=True)],
    )


def from_model(model: Model, lessons: list[Lesson], generation: int, name: str) -> OHWEU:
    """The hasher of a generation, from what was written; ``name`` is what errors call its file."""
    fixed, _ = _read(model.base or b"", _NAME, f"{name}: the base hash")
    moved, content = _read(model.learnt, _NAME, f"{name}: what was learnt")
    n_bits = content["parameters"]["n_bits"]
    codes = b"".join(code for _, code in model.labels)
    L = np.frombuffer(codes, "<f4").astype(np.float32).reshape(-1, n_bits)
    content["learnt"]["labels"] = [label for label, _ in model.labels]
    hasher = OHWEU.from_state({**fixed, **moved, "L": L}, content)
    return learnt_again(hasher, lessons, content["generation"], generation, name)


def to_lesson(hasher: OHWEU, lesson: Rows | CodeRows, generation: int) -> Lesson:
    """What ``hasher`` has just learnt from, and how well it knew that before."""
    if isinstance(lesson, Rows):
        arrays: dict[str, Any] = {"X": lesson.vectors}
    else:
        arrays = {"H": lesson.codes} | ({} if lesson.vectors is None else {"X": lesson.vectors})
    content = {"labels": lesson.labels.to_lists(), "tallies": hasher.tallies()}
    return Lesson(generation, model_file.to_bytes(_LESSON, arrays, content))


def learn_from(hasher: OHWEU, lesson: Rows | CodeRows) -> None:
    """Learn from vectors, or from stored items."""
    if isinstance(lesson, Rows):
        hasher.partial_fit(lesson.vectors, lesson.labels)
    else:
        hasher.learn_codes(lesson.codes, lesson.labels, lesson.vectors)


def learnt_again(hasher: OHWEU, lessons: list[Lesson], before: int, after: int, name: str) -> OHWEU:
    """Bring a hasher from one generation to another by the lessons between, in the very same steps."""
    if [lesson.generation for lesson in lessons] != list(range(before + 1, after + 1)):
        raise IndexFileError(f"{name}: damaged, a lesson between generations {before} and {after} is missing")
    for lesson in lessons:
        what = f"{name}: the lesson of generation {lesson.generation}"
        arrays, content = _read(lesson.data, _LESSON, what)
        labels = LabelRows.of(content["labels"])
        if "H" in arrays:
            learn_from(hasher, CodeRows(arrays["H"], labels, arrays.get("X")))
        else:
            learn_from(hasher, Rows(arrays["X"], labels, True))
        hasher.put_tallies(content["tallies"])
    return hasher


def checked_base_bits(hasher: OHWEU, dim: int) -> int:
    """Base bits that an initialised hasher has, or that another will have at most, if it can be used."""
    if hasher.initialized_:
        return int(hasher.base_bits_)
    hasher._check_parameters(hasher.n_init, dim)
    return hasher._base_bits()


def _read(data: bytes, kind: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return model_file.from_bytes(data, kind, name)
    except ModelFileError as error:
        raise IndexFileError(str(error)) from error
