"""What is learnt from: photographs, where somebody has them, and sets that need nobody's folder.

Of each set some rows are queries, some are queries for validation, on which all is chosen, and the
rest is the stream, in one pass, which is also the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import getdoc
from pkgutil import walk_packages
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from benchmarks import photographs
from onlinehash import OHWEU, HammingRanking
from onlinehash.codes import Packed
from onlinehash.hashers import ohweu
from onlinehash.hashers.itq import pca_itq_frames
from onlinehash.kernels.inputs import input_signs
from onlinehash.labels import label_rows
from onlinehash.targets import LabelCodes, Rows

Floats = npt.NDArray[np.float32]
Part = Literal["validation", "queries"]

OTHERS = ("yeast", "digits", "digits, several labels", "texts")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One set, divided by one seed."""

    name: str
    seed: int
    X: Floats
    Y: npt.NDArray[np.bool_]
    X_asked: Floats
    Y_asked: npt.NDArray[np.bool_]

    def first(self, n: int) -> Case:
        """The same queries, and a stream of the first ``n`` rows only."""
        return Case(self.name, self.seed, self.X[:n], self.Y[:n], self.X_asked, self.Y_asked)

    def hasher(self, n_bits: int = 64, **parameters: Any) -> OHWEU:
        """The defaults but for ``parameters``, initialised from the stream's head, no label learnt."""
        given = tuple(sorted(parameters.items()))
        return _initialized(self, n_bits, given).copy()

    def targets(self, n_bits: int, rows: Rows = "orthogonal") -> Floats:
        """g* of the stream."""
        return LabelCodes(n_bits, self.seed, rows).targets(label_rows(self.Y))

    def score(self, queries: Packed, codes: Packed, n_bits: int) -> float:
        """MAP of packed codes over the full ranking, expected over tie orders."""
        ranking = HammingRanking(queries, codes, self.Y_asked, self.Y, n_bits=n_bits)
        return ranking.mean_average_precision()

    def score_of(self, hasher: OHWEU, base: Packed | None = None, **how: bool) -> float:
        """MAP of what a hasher makes of queries and stored items now."""
        codes = hasher.encode(self.X) if base is None else hasher.project(base)
        return self.score(hasher.encode_query(self.X_asked, **how), codes, hasher.n_bits)

    def inputs(self, base_bits: int = 512, pairs: bool = True) -> tuple[Floats, Floats, Floats, Floats]:
        """What P reads and what R reads, of the stream and of the queries: U, Z, U_asked, Z_asked."""
        return _inputs(self, base_bits, pairs)


def packed(scores: Floats) -> Packed:
    """Codes from scores."""
    return np.packbits(scores >= 0, axis=1)


@cache
def _initialized(case: Case, n_bits: int, given: tuple[tuple[str, Any], ...]) -> OHWEU:
    hasher = OHWEU(n_bits, random_state=case.seed)
    hasher.set_params(**dict(given))
    return hasher.initialize(case.X[: hasher.n_init])


@cache
def _inputs(case: Case, base_bits: int, pairs: bool) -> tuple[Floats, Floats, Floats, Floats]:
    hasher = case.hasher(64, base_bits=base_bits, pairs=pairs)
    bits = hasher.base_bits_
    U, U_asked = (input_signs(hasher.hash(X), bits, pairs) for X in (case.X, case.X_asked))
    return U, hasher.features_(case.X), U_asked, hasher.features_(case.X_asked)


def _remembered(sample: Floats, *settings: Any, **more: Any) -> tuple[Floats, Floats]:
    """Base hashes depend on few of the parameters: each is learnt once."""
    key = (sample.tobytes(), *settings, *more.values())
    if key not in _KNOWN:
        _KNOWN[key] = pca_itq_frames(sample, *settings, **more)
    return _KNOWN[key]


_KNOWN: dict[tuple[Any, ...], tuple[Floats, Floats]] = {}
cast(Any, ohweu).pca_itq_frames = _remembered


def forget() -> None:
    """Let go of what was kept between one question's measurements."""
    _initialized.cache_clear()
    _inputs.cache_clear()
    _KNOWN.clear()


def cases(
    names: tuple[str, ...], seeds: int, part: Part = "validation", quick: bool = False
) -> Iterator[Case]:
    """Each set that is there under each seed; ``quick``: little of the first one."""
    for name in names:
        if name in photographs.SETTINGS and not photographs.available():
            continue
        for seed in range(1 if quick else seeds):
            yield load(name, seed, part).first(1500) if quick else load(name, seed, part)
            forget()
        if quick:
            return


def load(name: str, seed: int, part: Part = "validation") -> Case:
    """A set by its name."""
    if name in photographs.SETTINGS:
        s = photographs.split(name, seed)
        asked = (s.X_validation, s.Y_validation) if part == "validation" else (s.X_query, s.Y_query)
        return Case(name, seed, s.X, s.Y > 0, asked[0], asked[1] > 0)
    X, Y = {"yeast": _yeast, "texts": _texts}.get(name, lambda: _digits(name))()
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(Y.any(axis=1)))
    some = len(rows) // 8
    asked_rows = rows[some : 2 * some] if part == "validation" else rows[:some]
    stream = rows[2 * some :]
    return Case(name, seed, X[stream], Y[stream], X[asked_rows], Y[asked_rows])


@cache
def _yeast() -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Genes of yeast, 103 features, 14 labels, several a gene: river brings it in its wheel."""
    from river import datasets

    rows = list(cast(Any, datasets).Yeast())
    X = np.array([list(x.values()) for x, _ in rows], np.float32)
    Y = np.array([list(y.values()) for _, y in rows], np.bool_)
    return X, Y


def _digits(name: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """1,797 digits, 64 pixels; one label a digit, or what else can be said of it as well."""
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    Y = digits[:, None] == np.arange(10)
    if name != "digits":
        said = [digits % 2 == 0, digits % 2 == 1, np.isin(digits, (0, 6, 8, 9)), np.isin(digits, (1, 4, 7))]
        Y = np.concatenate([Y, np.transpose(said)], axis=1)
    return X.astype(np.float32), Y


@cache
def _texts() -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What the libraries here say of their functions and classes, labelled by the module that has them.

    Words weighted by how rare they are, in 256 directions. A text that two modules have has two labels.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    of_text: dict[str, set[str]] = {}
    for library in ("numpy", "scipy", "sklearn"):
        for module in _modules(library):
            for name, thing in vars(module).items():
                if (
                    not name.startswith("_")
                    and callable(thing)
                    and library in str(getattr(thing, "__module__", ""))
                ):
                    text = re.sub(rf"\b({library}|{name})\b", " ", getdoc(thing) or "")
                    if len(text) > 200:
                        of_text.setdefault(text, set()).add(module.__name__)
    texts = sorted(of_text)
    labels = sorted(set().union(*of_text.values()))
    Y = np.array([[label in of_text[text] for label in labels] for text in texts])
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.5).fit_transform(texts)
    X = TruncatedSVD(256, random_state=0).fit_transform(words).astype(np.float32)
    common = Y.sum(axis=0) >= 20
    return X, Y[:, common]


def _modules(library: str) -> Iterator[Any]:
    """The public modules of a library, two levels deep at most."""
    package = import_module(library)
    for found in walk_packages(package.__path__, f"{library}."):
        parts = found.name.split(".")
        if len(parts) == 2 and not parts[1].startswith("_") and parts[1] not in ("tests", "conftest"):
            yield import_module(found.name)
