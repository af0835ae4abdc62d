"""A dataset looked at without actors: what it holds, and whether it is whole."""

from __future__ import annotations

import os
from collections.abc import Mapping

from onlinehash.cluster.lance_store import LanceStore
from onlinehash.errors import OnlineHashError
from onlinehash.index.model import from_model
from onlinehash.index.results import Stats
from onlinehash.index.stats import stats_of


def stats(uri: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Stats:
    """What it holds, and how its learning goes. Of the actors that serve it, ``ClusterIndex.stats`` tells."""
    store = LanceStore.open(uri, True, storage_options)
    try:
        with store.read() as view:
            model = view.model()
            hasher = None if model is None else from_model(model, view.lessons(), view.generation, store.name)
            waiting = 0
            if hasher is None:
                waiting = view.state["items"] + sum(len(rows.vectors) for rows in view.rows() if rows.new)
            return stats_of(
                view, hasher, path=store.name, items=view.state["items"], waiting=waiting,
                generation=view.generation, pending=0, flipped=None, seconds={}, memory=0,
                disk=store.n_bytes(), durability="full", refresh="auto", read_only=True,
            )  # fmt: skip
    finally:
        store.close()


def check(uri: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with a dataset, in sentences: none if it is whole. It may be open elsewhere."""
    try:
        store = LanceStore.open(uri, True, storage_options)
        try:
            return store.verify()
        finally:
            store.close()
    except OnlineHashError as error:
        return [str(error)]
