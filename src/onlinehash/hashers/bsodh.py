"""BSODH: balanced similarity for online discrete hashing (Lin et al., AAAI 2019).

Codes B_s of a chunk and B_e of all that came before are made to reproduce a similarity S̃ that is
η_s where two items share a label and -η_d where not; W then regresses the features on the codes:

    ‖B_s B_eᵀ - K S̃‖² + σ ‖X W - B_s‖² + λ ‖W‖²

B_e enters only through sums over items with the same set of labels, since S̃ knows nothing else of
an item. So one row a distinct set of labels stands for all of the past, exactly: no N × n matrix,
and memory that does not grow with the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed, packed_to_signs
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.base import Floats, check_int, check_positive
from onlinehash.hashers.chunked import ChunkedHasher
from onlinehash.hashers.lsh import random_directions
from onlinehash.kernels.hash import sign_of_product
from onlinehash.labels import Label, LabelRows, shared_label_masks

LabelSet = tuple[Label, ...]
Reals = npt.NDArray[Any]

_BLOCK = 256  # rows whose similarity to the past is worked out together


class BSODH(ChunkedHasher):
    """Codes of a balanced similarity; every item is hashed again when W has moved.

    Parameters
    ----------
    n_bits : 1 to 4096
    eta_s, eta_d : weight of pairs that share a label and of those that do not; ``eta_d="auto"``
        balances them, η_s p / (1 - p) for the chunk's share p of pairs that do
    sigma, lam : weight of the regression, and of W
    iterations : sweeps a chunk
    form : "paper", W → B_e → B_s; "released", the published program: B_s → B_e → W in one sweep,
        K² in place of K, no σ (on data with several labels an item it falls far behind)
    chunk_size : rows a chunk; W is fitted to the last chunk alone
    n_init, centre, unit_norm, random_state : as for ``OHWEU``

    Until the second chunk is complete, codes are random projections.
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        eta_s: float = 1.2,
        eta_d: float | Literal["auto"] = 0.2,
        sigma: float = 0.5,
        lam: float = 0.6,
        iterations: int = 3,
        form: Literal["paper", "released"] = "paper",
        chunk_size: int = 2000,
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.eta_s = eta_s
        self.eta_d = eta_d
        self.sigma = sigma
        self.lam = lam
        self.iterations = iterations
        self.form = form
        self.chunk_size = chunk_size
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_positive(self, "eta_s", "sigma", "lam")
        check_int(self, "iterations", 1)
        if self.eta_d != "auto" and not (isinstance(self.eta_d, (int, float)) and 0 <= self.eta_d < np.inf):
            raise InvalidParameterError(f'eta_d must be "auto" or a number of 0 or more, got {self.eta_d!r}')
        if self.form not in ("paper", "released"):
            raise InvalidParameterError(f'form must be "paper" or "released", got {self.form!r}')

    def _initialize(self, sample: Floats) -> None:
        super()._initialize(sample)
        self.W_ = random_directions(sample.shape[1], self.n_bits, np.random.default_rng(self.seed_))
        self.past_ = Past.empty(self.n_bits)

    def _learn_chunk(self, Z: Floats, labels: LabelRows) -> None:
        B = packed_to_signs(self._encode(Z), self.n_bits).astype(np.float64)
        past = self.past_
        if past.sets:
            similar = past.similar(labels)
            eta_d = balance(similar, past.counts, self.eta_s) if self.eta_d == "auto" else self.eta_d
            S = np.where(similar, self.eta_s, -eta_d)
            B = past.first_similar(similar, B)
            fit = Regression.of(Z, self.lam, self.sigma)
            B, codes, self.W_ = self._sweeps(Z, B, S, fit)
            past = past.with_codes(codes)
        self.past_ = past.with_chunk(labels, B)

    def _sweeps(self, Z: Floats, B: Reals, S: Reals, fit: Regression) -> tuple[Reals, Reals, Floats]:
        """B_s, one code of B_e a set of labels, and W."""
        K, past = self.n_bits, self.past_
        if self.form == "released":
            scores = (Z @ self.W_).astype(np.float64)
            B = sweep(B, K * K * (S @ past.sums) + scores, past.gram)
            return B, _signs(S.T @ B), fit.W(Z, B)
        for _ in range(self.iterations):
            scores = fit.predicted(B)
            codes = _signs(S.T @ B)
            weighted = past.counts[:, None] * codes
            B = sweep(B, K * (S @ weighted) + self.sigma * scores, codes.T @ weighted)
        return B, codes, fit.W(Z, B)

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_)

    def _state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, learnt = super()._state()
        past = self.past_
        arrays |= {"W": self.W_, "counts": past.counts, "sums": past.sums, "firsts": past.firsts}
        return arrays | {"gram": past.gram}, learnt | {"sets": [list(names) for names in past.sets]}

    def _restore(self, arrays: dict[str, npt.NDArray[Any]], learnt: dict[str, Any]) -> None:
        super()._restore(arrays, learnt)
        self.W_ = arrays["W"]
        sets = [tuple(names) for names in learnt["sets"]]
        self.past_ = Past(sets, *(arrays[name] for name in ("counts", "sums", "firsts", "gram")))


@dataclass(frozen=True, slots=True)
class Past:
    """All items so far, a row for each distinct set of labels, in order of first appearance.

    counts (U,) items; sums (U, K) of their codes; firsts (U, K) the first one's code; gram (K, K)
    the sum of b bᵀ over all items.
    """

    sets: list[LabelSet]
    counts: Reals
    sums: Reals
    firsts: Reals
    gram: Reals

    @classmethod
    def empty(cls, n_bits: int) -> Past:
        """Nothing has come yet."""
        return cls([], np.zeros(0), np.zeros((0, n_bits)), np.zeros((0, n_bits)), np.zeros((n_bits, n_bits)))

    def similar(self, labels: LabelRows) -> npt.NDArray[np.bool_]:
        """Which rows share a label with which sets: (n, U)."""
        mine, theirs = shared_label_masks(LabelRows.of(self.sets), labels)
        similar = np.empty((len(theirs), len(mine)), bool)
        for start in range(0, len(theirs), _BLOCK):
            of = slice(start, start + _BLOCK)
            np.any(theirs[of, None] & mine, axis=2, out=similar[of])
        return similar

    def first_similar(self, similar: npt.NDArray[np.bool_], B: Reals) -> Reals:
        """B with the rows that have something similar in the past replaced by the first such code."""
        return np.where(np.any(similar, axis=1, keepdims=True), self.firsts[similar.argmax(axis=1)], B)

    def with_codes(self, codes: Reals) -> Past:
        """The same items when all with one set of labels have one code."""
        weighted = self.counts[:, None] * codes
        return Past(self.sets, self.counts, weighted, codes, codes.T @ weighted)

    def with_chunk(self, labels: LabelRows, B: Reals) -> Past:
        """One more chunk of items with codes B."""
        number = {names: u for u, names in enumerate(self.sets)}
        of = np.array(
            [number.setdefault(tuple(row), len(number)) for row in labels.in_order_of_names().to_lists()],
            np.int64,
        )
        more = len(number) - len(self.sets)
        counts = np.pad(self.counts, (0, more)) + np.bincount(of, minlength=len(number))
        sums = np.pad(self.sums, ((0, more), (0, 0)))
        np.add.at(sums, of, B)
        new, first_of_new = np.unique(of, return_index=True)
        firsts = np.concatenate([self.firsts, B[first_of_new[new >= len(self.sets)]]])
        return Past(list(number), counts, sums, firsts, self.gram + B.T @ B)


@dataclass(frozen=True, slots=True)
class Regression:
    """σ(σXᵀX + λI)⁻¹XᵀB and its predictions, the matrix inverted once a chunk, on its smaller side."""

    inverse: Reals  # (X Xᵀ + λ/σ I)⁻¹ where there are fewer rows than features, else (XᵀX + λ/σ I)⁻¹
    product: Reals  # X Xᵀ or X itself
    by_rows: bool

    @classmethod
    def of(cls, Z: Floats, lam: float, sigma: float) -> Regression:
        """Prepare for one chunk's features."""
        by_rows = len(Z) < Z.shape[1]
        X = Z.astype(np.float64)
        gram = X @ X.T if by_rows else X.T @ X
        inverse = np.linalg.inv(gram + (lam / sigma) * np.eye(len(gram)))
        return cls(inverse, gram if by_rows else X, by_rows)

    def W(self, Z: Floats, B: Reals) -> Floats:
        """W (D, K) for codes B."""
        X = Z.astype(np.float64)
        W = X.T @ (self.inverse @ B) if self.by_rows else self.inverse @ (X.T @ B)
        return W.astype(np.float32)

    def predicted(self, B: Reals) -> Reals:
        """X W (n, K)."""
        if self.by_rows:
            predicted: Reals = self.product @ (self.inverse @ B)
            return predicted
        predicted = self.product @ (self.inverse @ (self.product.T @ B))
        return predicted


def balance(similar: npt.NDArray[np.bool_], counts: Reals, eta_s: float) -> float:
    """The η_d that makes both kinds of pairs weigh alike, η_s at most."""
    p = float((similar @ counts).sum() / (len(similar) * counts.sum()))
    return eta_s * min(1.0, p / max(1 - p, 1e-9))


def sweep(B: Reals, P: Reals, G: Reals) -> Reals:
    """Discrete cyclic coordinate descent over the bits: b_r ← sgn(P_r - Σ_{q≠r} G_rq b_q)."""
    B = B.copy()
    for r in range(B.shape[1]):
        others = G[r].copy()
        others[r] = 0
        B[:, r] = _signs(P[:, r] - B @ others)
    return B


def _signs(values: Reals) -> Reals:
    return np.where(values >= 0, 1.0, -1.0)
