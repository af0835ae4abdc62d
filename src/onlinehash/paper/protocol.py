"""The protocol: who is a query, who is in the stream, and what a ranking is worth.

Rows without a label are left out. Queries are drawn apart; so is a validation part, on which the
rivals' parameters are chosen. The rest is the stream, in one pass, and the stream is the database.
An item is relevant if it shares a label with the query. mAP is over the full ranking, queries
without a relevant item count 0, ties are taken at their expectation over all orders, unless said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinehash.codes import Packed
from onlinehash.datasets import Dataset
from onlinehash.errors import InvalidInputError
from onlinehash.metrics import HammingRanking, Ties

TIES: Ties = "expected"
CHUNK = 1000  # rows that come in at once


@dataclass(frozen=True, slots=True)
class Parts:
    """One random division of a data set."""

    stream: Dataset
    validation: Dataset
    queries: Dataset


def divide(data: Dataset, seed: int, queries: int, validation: int) -> Parts:
    """Draw queries, then the validation part; the stream is what is left, in a random order."""
    if data.labels is None:
        raise InvalidInputError(f"{data.name}: expected labels, for relevance is a shared label; got none")
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(data.labels.labelled))
    if len(rows) < 2 * (queries + validation):
        raise InvalidInputError(
            f"{data.name}: expected at least {2 * (queries + validation)} rows with a label, so that "
            f"{queries} may be queries and {validation} for validation; got {len(rows)}"
        )
    return Parts(
        queries=data.select(rows[:queries]),
        validation=data.select(rows[queries : queries + validation]),
        stream=data.select(rows[queries + validation :]),
    )


def score(
    queries: Packed, codes: Packed, asked: Dataset, stored: Dataset, n_bits: int, ties: Ties = TIES
) -> float:
    """MAP of query codes against stored codes, both in the order of their data."""
    ranking = HammingRanking(queries, codes, asked.labels, stored.labels, n_bits=n_bits, ties=ties)
    return ranking.mean_average_precision()


def encoded(encode: Any, data: Dataset) -> Packed:
    """Codes of all rows, read a chunk at a time."""
    return np.concatenate([encode(X) for X, _ in data.chunks(CHUNK)])
