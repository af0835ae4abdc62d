"""MIHash: online hashing with mutual information (Cakir, He, Bargal and Sclaroff, ICCV 2017).

W climbs the mutual information between a sample's distances to a reservoir of past samples and
whether they share a label (``kernels/mutual.py``). With its trigger, which decides when stored codes
are worth hashing again, it is ``Triggered(MIHash(…))`` (``trigger.py``).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.base import Floats, check_int, check_positive
from onlinehash.hashers.chunked import ChunkedHasher
from onlinehash.hashers.lsh import random_directions
from onlinehash.hashers.reservoir import Reservoir
from onlinehash.kernels.hash import sign_of_product
from onlinehash.kernels.mutual import Rule, learn_mutual, learn_mutual_numpy
from onlinehash.labels import Label, LabelRows, shared_label_masks


class MIHash(ChunkedHasher):
    """Codes whose distances tell as much as they can of who shares a label.

    Every item is hashed again when W has moved.

    Parameters
    ----------
    n_bits : 1 to 4096
    step : η. With ``gradient="exact"``, 0.25 is what a step of 1 comes to in the released program
    sharpness : A, of the sigmoids
    bins : of the soft histograms, at most ``n_bits``
    reservoir_size : past samples that are kept and compared with
    gradient : "exact", or "released", the published program's (the same direction but for a little,
        a quarter of the length)
    chunk_size : rows that are learnt from together, one after another. The gradient jumps where a
        distance passes from bin to bin, so rounding grows into other codes within hundreds of rows;
        with chunks that do not depend on how rows come in, codes do not either
    as_published : learn by the published program's loop instead of the fast form, for comparing times
    n_init, centre, unit_norm, random_state : as for ``OHWEU``
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        step: float = 0.25,
        sharpness: float = 10.0,
        bins: int = 16,
        reservoir_size: int = 200,
        gradient: Literal["exact", "released"] = "exact",
        chunk_size: int = 50,
        as_published: bool = False,
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.step = step
        self.sharpness = sharpness
        self.bins = bins
        self.reservoir_size = reservoir_size
        self.gradient = gradient
        self.chunk_size = chunk_size
        self.as_published = as_published
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_positive(self, "step", "sharpness")
        check_int(self, "bins", 1)
        check_int(self, "reservoir_size", 2)
        if self.gradient not in ("exact", "released"):
            raise InvalidParameterError(f'gradient must be "exact" or "released", got {self.gradient!r}')

    def _initialize(self, sample: Floats) -> None:
        super()._initialize(sample)
        width = sample.shape[1]
        self.W_ = random_directions(width, self.n_bits, np.random.default_rng(self.seed_))
        self.reservoir_ = Reservoir(np.zeros((self.reservoir_size, width), np.float32), self.seed_)

    def _learn_chunk(self, Z: Floats, labels: LabelRows) -> None:
        reservoir = self.reservoir_
        empty: list[list[Label]] = [[]] * (len(reservoir.rows) - reservoir.filled)
        kept = LabelRows.of([*reservoir.labels, *empty])
        reservoir_masks, masks = shared_label_masks(kept, labels)
        rule = Rule(self.sharpness, self.step, min(self.bins, self.n_bits), self.gradient == "released")
        filled, slots = reservoir.filled, reservoir.slots_for(len(Z))
        learn = learn_mutual_numpy if self.as_published else learn_mutual
        learn(self.W_, Z, masks, reservoir.rows, reservoir_masks, slots, filled, rule)
        reservoir.name(slots, labels.to_lists())

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays, learnt = super()._state()
        kept, of_reservoir = self.reservoir_.state()
        return {"W": self.W_, **arrays, **kept}, learnt | of_reservoir

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        super()._restore(arrays, learnt)
        self.W_ = arrays["W"]
        self.reservoir_ = Reservoir.restored(arrays, learnt)
