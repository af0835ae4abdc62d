"""A hasher as the store keeps it: the base hash, written once, apart from what every learning moves."""

from __future__ import annotations

import numpy as np

from onlinehash.hashers import model_file
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.store import Model

_FIXED = ("centre", "W", "b")
_NAME = "OHWEU"


def to_model(hasher: OHWEU, known: int | None) -> Model:
    """To be written first (``known`` is None), or again after ``known`` labels were written."""
    arrays, content = hasher.state()
    L, labels = arrays.pop("L"), content["learnt"].pop("labels")
    fixed = {name: arrays.pop(name) for name in _FIXED}
    first = known is None
    rows = zip(labels[known or 0 :], L[known or 0 :], strict=True)
    return Model(
        model_file.to_bytes(_NAME, fixed, {}) if first else None,
        model_file.to_bytes(_NAME, arrays, content),
        [(label, row.astype("<f4").tobytes()) for label, row in rows],
    )


def from_model(model: Model, name: str) -> OHWEU:
    """The hasher that was written; ``name`` is what errors call its file."""
    fixed, _ = model_file.from_bytes(model.base or b"", _NAME, f"{name}: the base hash")
    moved, content = model_file.from_bytes(model.learnt, _NAME, f"{name}: what was learnt")
    n_bits = content["parameters"]["n_bits"]
    codes = b"".join(code for _, code in model.labels)
    L = np.frombuffer(codes, "<f4").astype(np.float32).reshape(-1, n_bits)
    content["learnt"]["labels"] = [label for label, _ in model.labels]
    return OHWEU.from_state({**fixed, **moved, "L": L}, content)


def checked_base_bits(hasher: OHWEU, dim: int) -> int:
    """Base bits that an initialised hasher has, or that another will have at most, if it can be used."""
    if hasher.initialized_:
        return int(hasher.base_bits_)
    hasher._check_parameters(hasher.n_init, dim)
    return hasher._base_bits()
