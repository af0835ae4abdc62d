"""OHWEU: online hashing with efficient updating of binary codes (Weng and Zhu, AAAI 2020).

    h   = sgn(Wᵀz + b)   base code: learnt once by PCA-ITQ, never changes          ``hash``
    g   = sgn(Pᵀφ(h))    live code: follows P, computed from h alone               ``project``
    g_q = sgn(Rᵀz + c)   query code: straight from the query's features            ``encode_query``
    g*  = sgn(Lᵀy)       target of a labelled row: a row of L for each label       ``targets.py``

In the paper φ(h) = h and c = 0, and P and R follow the passive-aggressive rule towards g* (Eq. 13,
14 and 29: ``kernels/learn.py``). The defaults go beyond it, see docs/quality.md: φ(h) has pairs of
bits as well (``kernels/inputs.py``), and P, R and c are regressions on all rows (``ridge.py``).
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, Self

import numpy as np

from onlinehash.codes import Packed, check_n_bits, check_packed, packed_to_words, words_to_packed
from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.hashers.base import Floats, OnlineHasher, check_positive
from onlinehash.hashers.itq import ITERATIONS, check_directions, pca_itq, pca_itq_frames
from onlinehash.hashers.lsh import random_directions
from onlinehash.hashers.ridge import CodeRidge, FeatureRidge, Ridge
from onlinehash.kernels.hash import sign_of_product
from onlinehash.kernels.inputs import input_signs, n_inputs
from onlinehash.kernels.learn import RULES, Learner, Rule
from onlinehash.kernels.refresh import lookup_tables, refresh_codes, refresh_numpy
from onlinehash.kernels.threads import side_by_side
from onlinehash.labels import LabelRows, label_rows
from onlinehash.targets import ROWS, LabelCodes, Rows

LearnerName = Literal["ridge", "pa"]

LEARNERS: tuple[LearnerName, ...] = ("ridge", "pa")
_AUTO_BASE_BITS = 512
_MOST_INPUTS = 8192  # of a ridge's P: its sums are as many numbers squared, 256 MiB of them
_START = 1  # which of the seed's streams of random numbers P and R start from
_SLICE = 1024  # codes that are unpacked at once, to bound memory
_FEW = 32  # codes below which the lookup tables cost more than they save


class OHWEU(OnlineHasher):
    """Codes that follow labels, while every item is hashed only once.

    Parameters
    ----------
    n_bits : bits of a live code, 1 to 4096
    base_bits : bits of a base code, all that is stored of an item. None: ``n_bits``, as in the paper;
        "auto": 512, or eight times as many as the initial sample spans directions
    pairs : whether P reads pairs of bits of the same byte too; storage and refresh stay what they are
    learner : "ridge" regresses on all rows so far; "pa" is the paper's passive-aggressive rule
    half_life : of the learner "ridge": a row weighs half as much as one that came so many rows later,
        for streams in which labels change their meaning. None: all rows weigh the same
    targets : rows of L, "orthogonal" or "gaussian"
    rule, average, C_P, C_R, start : of the learner "pa" alone.
        rule: "paper" is Eq. 14 and 29 to the letter, steps towards a margin of 1; "released" is the
        authors' own program, steps towards a margin of ⟨z, z⟩ and back from beyond it; "floored"
        is that without the way back. average: use the mean of all iterates of P and R instead of the
        last ones. C_P, C_R: the largest step of P and of R. start: what P and R start from, "base",
        a random choice of base bits, or "random", unit-norm Gaussian columns
    n_init : rows of the initial sample
    centre, unit_norm : what is done to features first; centre is True for the initial sample's
        mean, False, or an array of your own
    random_state : int (the same codes on every run), None, RandomState or Generator

    Attributes
    ----------
    W_, b_ : the base hash (features, base_bits), (base_bits,)
    P_, R_, c_ : the projections in use (base_bits, or more with pairs, n_bits), (features, n_bits),
        and the queries' thresholds (n_bits,)
    label_codes_ : the rows of L met so far
    base_bits_ : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(600, 32))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> hasher = OHWEU(n_bits=16, n_init=300).partial_fit(X, y)
    >>> base = hasher.hash(X)  # stored once
    >>> live = hasher.project(base)  # again and again, without X
    >>> hasher.encode_query(X[:5]).shape
    (5, 2)
    """

    refreshes_from = "base codes"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        base_bits: int | Literal["auto"] | None = "auto",
        pairs: bool = True,
        learner: LearnerName = "ridge",
        half_life: float | None = None,
        targets: Rows = "orthogonal",
        rule: Rule = "floored",
        average: bool = True,
        C_P: float = 0.3,
        C_R: float = 0.3,
        start: Literal["base", "random"] = "base",
        n_init: int = 1000,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.base_bits = base_bits
        self.pairs = pairs
        self.learner = learner
        self.half_life = half_life
        self.targets = targets
        self.rule = rule
        self.average = average
        self.C_P = C_P
        self.C_R = C_R
        self.start = start
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    @classmethod
    def as_published(cls, n_bits: int = 64, *, random_state: Any = 0) -> Self:
        """The paper to the letter: Eq. 14 and 29, C = 0.1, base codes as long as live codes."""
        return cls(
            n_bits, base_bits=None, pairs=False, learner="pa", targets="gaussian", rule="paper",
            average=False, C_P=0.1, C_R=0.1, start="random", n_init=300, random_state=random_state,
        )  # fmt: skip

    # ---- what a user calls

    def hash(self, X: Any) -> Packed:
        """Base codes, packed: (n, ceil(base_bits_ / 8)) uint8. They never change."""
        return self._in_slices(X, self._hash)

    def project(self, H: Packed) -> Packed:
        """Base codes → live codes under the present P, both packed. No features are needed."""
        self._check_initialized()
        H = check_packed(H, self.base_bits_, "base codes")
        if len(H) < _FEW:
            return refresh_numpy(H, self.P_, self.base_bits_)
        words = packed_to_words(H, self.base_bits_)
        return words_to_packed(refresh_codes(words, self.lookup_tables(), self.n_bits), self.n_bits)

    def lookup_tables(self) -> Floats:
        """The present P in the form in which ``kernels.refresh.refresh_codes`` reads it."""
        self._check_initialized()
        return lookup_tables(self.P_, self.base_bits_)

    def encode(self, X: Any) -> Packed:
        """``project(hash(X))``."""
        return self.project(self.hash(X))

    def encode_query(self, X: Any, *, symmetric: bool = False) -> Packed:
        """Query codes: sgn(Rᵀz + c), or those of ``encode`` where ``symmetric``."""
        return self.encode(X) if symmetric else super().encode_query(X)

    def query_scores(self, X: Any) -> Floats:
        """Rᵀz + c (n, n_bits): what ``encode_query`` takes the signs of, for a finer order of neighbours."""
        self._check_initialized()
        scores: Floats = self.features_(self._check_X(X)) @ self.R_
        scores += self.c_
        return scores

    def code_scores(self, H: Packed) -> Floats:
        """Pᵀφ(h) (n, n_bits): what ``project`` takes the signs of."""
        self._check_initialized()
        H = check_packed(H, self.base_bits_, "base codes")
        scores: Floats = input_signs(H, self.base_bits_, self.pairs) @ self.P_
        return scores

    def learn_codes(self, H: Packed, Y: Any, X: Any = None) -> Self:
        """Learn from labelled items by their base codes: P, and R too where X, their features, is given."""
        self._check_initialized()
        H = check_packed(H, self.base_bits_, "base codes")
        labels = label_rows(Y, len(H))
        X = None if X is None else self._check_X(X)
        labelled = np.flatnonzero(labels.labelled)
        targets = self.label_codes_.targets(labels)
        for start in range(0, len(labelled), _SLICE):
            of = labelled[start : start + _SLICE]
            self._learn_P(H[of], targets[of])
            if X is not None:
                self._R.learn(self.features_(X[of]), targets[of])
        return self

    def learn_pairs(self, X: Any, X_alike: Any) -> Self:
        """Learn from pairs of rows that somebody took for alike, without a label, as clicks say it.

        Both rows of a pair are taught the code that they agree on by now: the signs of the sums of
        their scores, and 0 for bits of which they are less sure than half of the pairs are. This is
        for streams without labels, or with hardly any: labels say more, and clicks dilute them.
        """
        self._check_initialized()
        X, X_alike = self._check_X(X), self._check_X(X_alike)
        if len(X) != len(X_alike):
            raise InvalidInputError(
                f"pairs: expected as many rows on both sides, got {len(X)} and {len(X_alike)}"
            )
        for start in range(0, len(X), _SLICE):
            both = [self.features_(rows[start : start + _SLICE]) for rows in (X, X_alike)]
            known = [input_signs(self._hash(Z), self.base_bits_, self.pairs) @ self.P_ for Z in both]
            asked = [Z @ self.R_ + self.c_ for Z in both]
            scores = np.sum(known + asked, axis=0)
            sure = np.abs(scores) >= np.median(np.abs(scores), axis=0)
            for Z in both:
                self._learn_targets(Z, np.sign(scores) * sure)
        return self

    def copy(self) -> Self:
        """An independent hasher that goes on from here; what never changes is shared."""
        self._check_initialized()
        twin = copy(self)
        twin._P, twin._R = self._P.copy(), self._R.copy()
        twin.label_codes_ = self.label_codes_.copy()
        return twin

    def progress(self) -> dict[str, tuple[float, float]]:
        """For P and R the share of wrong bits and the mean hinge loss a bit, before they were learnt from.

        The learner "ridge" looks at some rows of each chunk, under the projection last in use.
        """
        return {name: learner.progress() for name, learner in (("P", self._P), ("R", self._R))}

    def tallies(self) -> dict[str, list[float]]:
        """What ``progress`` is worked out from, where it is not learnt from the rows alone."""
        learners = {"P": self._P, "R": self._R}
        return {
            name: learner.sums.tally.tolist()
            for name, learner in learners.items()
            if not isinstance(learner, Learner)
        }

    def put_tallies(self, tallies: dict[str, list[float]]) -> None:
        """Take back what ``tallies`` gave."""
        for name, learner in (("P", self._P), ("R", self._R)):
            if not isinstance(learner, Learner):
                learner.sums.tally[...] = tallies[name]

    @property
    def n_learnt_(self) -> int:
        """Rows that P has learnt from, by labels or in pairs."""
        return self._P.seen

    @property
    def P_(self) -> Floats:
        """(inputs, n_bits): the projection of stored codes that is in use."""
        return self._P.projection

    @property
    def R_(self) -> Floats:
        """(features, n_bits): the projection of queries that is in use."""
        return self._R.projection

    @property
    def c_(self) -> Floats:
        """(n_bits,): what is added to the scores of queries; 0 for the learner "pa"."""
        return self._R.offset if isinstance(self._R, FeatureRidge) else np.zeros(self.n_bits, np.float32)

    # ---- how it works

    def _initialize(self, sample: Floats) -> None:
        wanted, auto = self._base_bits(), self.base_bits == "auto"
        if self.base_bits is None:
            self.W_, self.b_ = pca_itq(sample, wanted, ITERATIONS, self.seed_)
        else:
            self.W_, self.b_ = pca_itq_frames(sample, wanted, ITERATIONS, self.seed_, or_fewer=auto)
        self.base_bits_ = self.W_.shape[1]
        self.label_codes_ = LabelCodes(self.n_bits, self.seed_, self.targets)
        if self.learner == "pa":
            P, R = self._first_projections(sample)
            self._P: CodeRidge | Learner = Learner.start(P, self.C_P, self.rule, self.average)
            self._R: FeatureRidge | Learner = Learner.start(R, self.C_R, self.rule, self.average)
            return
        self._P = CodeRidge.start(self.base_bits_, self.pairs, self.n_bits, self.half_life)
        self._R = FeatureRidge.start(sample, self.n_bits, self.seed_, self.half_life)
        # the first lesson, which later ones outweigh: the codes of PCA-ITQ
        codes = sign_of_product(sample, *pca_itq_frames(sample, self.n_bits, ITERATIONS, self.seed_))
        targets = input_signs(codes, self.n_bits, False)
        self._learn_targets(sample, targets)
        self._P.sums.become_prior()
        self._R.sums.become_prior()

    def _first_projections(self, sample: Floats) -> tuple[Floats, Floats]:
        inputs = n_inputs(self.base_bits_, self.pairs)
        rng = np.random.default_rng((self.seed_, _START))  # apart from the rotation's draws
        if self.start == "random":
            P = random_directions(inputs, self.n_bits, rng)
            return P, random_directions(sample.shape[1], self.n_bits, rng)
        chosen = np.resize(rng.permutation(self.base_bits_), self.n_bits)
        P = np.zeros((inputs, self.n_bits), np.float32)
        P[chosen, np.arange(self.n_bits)] = 1
        return P, self.W_[:, chosen].copy()

    def _hash(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_, self.b_)

    def _encode(self, Z: Floats) -> Packed:
        return self.project(self._hash(Z))

    def _encode_query(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.R_, self.c_)

    def _learn(self, Z: Floats, labels: LabelRows) -> None:
        labelled = labels.labelled
        targets = self.label_codes_.targets(labels)
        if not labelled.all():
            Z, targets = Z[labelled], targets[labelled]
        self._learn_targets(Z, targets)

    def _learn_targets(self, Z: Floats, targets: Floats) -> None:
        side_by_side(lambda: self._learn_P(self._hash(Z), targets), lambda: self._R.learn(Z, targets))

    def _learn_P(self, H: Packed, targets: Floats) -> None:
        if isinstance(self._P, CodeRidge):
            self._P.learn(H, targets)
        else:
            self._P.learn(input_signs(H, self.base_bits_, self.pairs), targets)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"W": self.W_, "b": self.b_, "L": self.label_codes_.L}
        for name, learner in (("P", self._P), ("R", self._R)):
            arrays |= {f"{name}.{part}": array for part, array in learner.arrays().items()}
        seen = {"P": self._P.seen, "R": self._R.seen}
        return arrays, {"labels": self.label_codes_.labels, "seen": seen}

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        self.W_, self.b_ = arrays["W"], arrays["b"]
        self.base_bits_ = self.W_.shape[1]
        self.label_codes_ = LabelCodes(self.n_bits, self.seed_, self.targets)
        self.label_codes_.restore(learnt["labels"], arrays["L"])
        P, R = (
            {key[2:]: array for key, array in arrays.items() if key.startswith(f"{name}.")} for name in "PR"
        )
        seen = learnt["seen"]
        if self.learner == "ridge":
            self._P = CodeRidge.of(self.base_bits_, self.pairs, Ridge.of(P, seen["P"], self.half_life))
            self._R = FeatureRidge.of(R, Ridge.of(R, seen["R"], self.half_life))
        else:
            self._P = Learner(C=self.C_P, rule=self.rule, seen=seen["P"], **{"mean": None, **P})
            self._R = Learner(C=self.C_R, rule=self.rule, seen=seen["R"], **{"mean": None, **R})

    def _base_bits(self) -> int:
        if self.base_bits == "auto":
            return _AUTO_BASE_BITS
        return self.n_bits if self.base_bits is None else self.base_bits

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        base_bits = check_n_bits(self._base_bits(), "base_bits")
        if self.base_bits is None:
            check_directions(base_bits, "n_bits", n_init, width)
        for name, known in (
            ("learner", LEARNERS), ("targets", ROWS), ("rule", RULES), ("start", ("base", "random")),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise InvalidParameterError(f"{name} must be one of {', '.join(known)}, got {given!r}")
        if self.learner == "ridge" and (inputs := n_inputs(base_bits, self.pairs)) > _MOST_INPUTS:
            raise InvalidParameterError(
                f"base_bits={base_bits} gives P {inputs} inputs, of which learner='ridge' takes at most "
                f"{_MOST_INPUTS}; use fewer base_bits, pairs=False or learner='pa'"
            )
        check_positive(self, "C_P", "C_R", *(() if self.half_life is None else ("half_life",)))
        if self.half_life is not None and self.learner != "ridge":
            raise InvalidParameterError(f"half_life is for learner='ridge', got learner={self.learner!r}")
