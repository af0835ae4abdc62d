"""OSupH: online supervised hashing (Cakir and Sclaroff, ICIP 2015; with Bargal, CVIU 2017).

Every label has a random codeword, and every bit is a linear classifier that learns the codewords of
the labels that come by. Often called OSH; that name is kept for online sketch hashing here.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.base import Floats, OnlineHasher, check_positive
from onlinehash.hashers.lsh import random_directions
from onlinehash.kernels.codewords import learn_codewords, learn_codewords_numpy
from onlinehash.kernels.hash import sign_of_product
from onlinehash.labels import Label, LabelRows
from onlinehash.targets import label_row

_TRIES = 64


class OSupH(OnlineHasher):
    """Codes that learn a codeword a label; every item is hashed again when W has moved.

    A row with several labels is learnt from once for each, in the order of the labels' names.

    Parameters
    ----------
    n_bits : 1 to 4096
    step : η, what a bit is moved by
    rule : "hinge", bits on the wrong side of a margin of 1 are moved (the authors: "typically works
        better"); "boost", the paper's: each bit mends what the bits before it left
    as_published : learn by the published program's loop instead of the fast form: the same codes,
        for comparing times
    n_init, centre, unit_norm, random_state : as for ``OHWEU``
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        step: float = 0.1,
        rule: Literal["hinge", "boost"] = "hinge",
        as_published: bool = False,
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.step = step
        self.rule = rule
        self.as_published = as_published
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_positive(self, "step")
        if self.rule not in ("hinge", "boost"):
            raise InvalidParameterError(f'rule must be "hinge" or "boost", got {self.rule!r}')

    def _initialize(self, sample: Floats) -> None:
        self.W_ = random_directions(sample.shape[1], self.n_bits, np.random.default_rng(self.seed_))
        self.codewords_: dict[Label, Floats] = {}

    def _learn(self, Z: Floats, labels: LabelRows) -> None:
        rows = labels.in_order_of_names()
        codewords = np.zeros((len(rows.vocabulary), self.n_bits), np.float32)
        for j in dict.fromkeys(rows.indices.tolist()):
            codewords[j] = self._codeword(rows.vocabulary[j])
        learn = learn_codewords_numpy if self.as_published else learn_codewords
        learn(self.W_, Z, codewords, rows.indices, rows.starts, self.step, self.rule == "boost")

    def _codeword(self, label: Label) -> Floats:
        """The label's codeword; a new label gets one that no other has, as long as there are any."""
        if label not in self.codewords_:
            taken = {codeword.tobytes() for codeword in self.codewords_.values()}
            for attempt in range(_TRIES):
                row = label_row(label, self.n_bits, (self.seed_ << 8) + attempt)
                codeword = np.where(row >= 0, np.float32(1), np.float32(-1))
                if codeword.tobytes() not in taken:
                    break
            self.codewords_[label] = codeword
        return self.codewords_[label]

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        codewords = np.array(list(self.codewords_.values()), np.float32).reshape(-1, self.n_bits)
        return {"W": self.W_, "codewords": codewords}, {"labels": list(self.codewords_)}

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        self.W_ = arrays["W"]
        self.codewords_ = dict(zip(learnt["labels"], arrays["codewords"], strict=True))
