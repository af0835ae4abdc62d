"""Is an index's file whole? Everything in it is read, and everything that can be compared is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from onlinehash.codes import words_to_packed
from onlinehash.errors import OnlineHashError
from onlinehash.index.index import Index
from onlinehash.index.sqlite import SQLiteStore
from onlinehash.kernels.refresh import refresh_numpy

_TWINS = 100  # codes of each slice that are refreshed by the plain twin, too


def check(path: str | os.PathLike[str]) -> list[str]:
    """What is wrong with an index's file, in sentences: none if it is whole.

    It may be open elsewhere. SQLite's own check, every checksum, that items and codes agree, and that
    live codes are what P makes of the base codes.
    """
    try:
        store = SQLiteStore.open(Path(path), read_only=True, durability="full")
        try:
            wrong = store.verify()
        finally:
            store.close()
        if not wrong:
            with Index.open(path, read_only=True) as index:
                wrong = _live_codes(index)
    except OnlineHashError as error:
        return [str(error)]
    return wrong


def _live_codes(index: Index) -> list[str]:
    with index._pinned() as (view, snapshot):
        if snapshot.generation is None:
            return []
        hasher = snapshot.generation.hasher
        for chunk in view.chunks():
            slots = chunk.first + np.flatnonzero(chunk.taken)
            codes = chunk.codes[chunk.taken]
            live = words_to_packed(np.ascontiguousarray(snapshot.live[:, slots]), hasher.n_bits)
            some = slice(None, None, max(1, len(codes) // _TWINS))
            if not (
                (live == hasher.project(codes)).all()
                and (live[some] == refresh_numpy(codes[some], hasher.P_, hasher.base_bits_)).all()
            ):
                return [f"live codes from slot {chunk.first} on are not what P makes of the base codes"]
    return []
