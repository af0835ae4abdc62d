"""What a hasher does to raw features first: subtract a fixed centre, scale rows to unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import InvalidParameterError
from onlinehash.kernels.hash import centred

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Features:
    """Fixed once learnt: a running mean would change the codes of what has been hashed already."""

    centre: Floats  # (D,)
    unit_norm: bool

    @classmethod
    def learn(cls, sample: Floats, centre: Any, unit_norm: bool) -> Features:
        """``centre`` is True for the sample's mean, False for none, or the user's own (D,)."""
        width = sample.shape[1]
        if centre is True:
            return cls(sample.mean(axis=0, dtype=np.float64).astype(np.float32), unit_norm)
        if centre is False:
            return cls(np.zeros(width, np.float32), unit_norm)
        try:
            own = np.array(centre, np.float32)
        except (TypeError, ValueError):
            own = np.empty(0, np.float32)
        if own.shape != (width,) or not np.isfinite(own).all():
            raise InvalidParameterError(
                f"centre must be True, False or {width} finite numbers, one for each feature of X; "
                f"got {centre!r}"
            )
        return cls(own, unit_norm)

    def __call__(self, X: Floats) -> Floats:
        """Z (n, D), a new array. A row that lies on the centre stays 0."""
        return centred(X, self.centre, self.unit_norm)
