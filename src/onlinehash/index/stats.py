"""What an index holds and how its learning goes, from one state of its store."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.results import Stats
from onlinehash.index.store import View


def stats_of(view: View, hasher: OHWEU | None, **own: Any) -> Stats:
    """``hasher`` is what has been learnt by now; ``own`` are the fields that only the caller knows."""
    served = own["generation"] > 0
    settings = view.settings()
    rates = {"P": (np.nan, np.nan), "R": (np.nan, np.nan)} if hasher is None else hasher.progress()
    (mistakes_P, loss_P), (mistakes_R, loss_R) = (
        (None if np.isnan(rate) else rate for rate in rates[name]) for name in ("P", "R")
    )
    return Stats(
        dim=settings["dim"], n_bits=settings["n_bits"], keep_vectors=settings["keep_vectors"],
        n_init=settings["parameters"]["n_init"], initialized=served,
        base_bits=hasher.base_bits_ if served and hasher is not None else None,
        labels=0 if hasher is None else len(hasher.label_codes_.labels),
        learnt=0 if hasher is None else hasher.n_learnt_, mistakes_P=mistakes_P,
        mistakes_R=mistakes_R, loss_P=loss_P, loss_R=loss_R, **own,
    )  # fmt: skip
