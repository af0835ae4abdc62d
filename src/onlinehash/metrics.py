"""How good a ranking is: mAP and friends, each with its tie rule, cut-off and denominator stated.

An item is relevant to a query if they share at least one label. Hamming distances tie all the time,
and what stands first among equals decides figures in the second digit, so the rule is explicit:

    ties="expected"   the expectation over all orders of the tied items, in closed form
    ties="database"   tied items in the order of the database, as a stable sort leaves them (the
                      literature's; never sort a database by class before using it)

Queries with no relevant item count 0 (``empty="zero"``) or are left out (``empty="drop"``).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from onlinehash.codes import Packed, check_n_bits, check_packed, packed_to_words
from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.labels import label_rows, shared_label_masks

Values = npt.NDArray[np.float64]
Ties = Literal["expected", "database"]
Empty = Literal["zero", "drop"]
Denominator = Literal["found", "reachable", "relevant"]


class HammingRanking:
    """The full rankings of a database by Hamming distance to each query, ready for every metric.

    Nothing is sorted and no matrix of distances is made: memory is bounded by
    queries × (n_bits + 1) counts.

    Parameters
    ----------
    queries, codes : packed codes of ``n_bits`` bits
    query_labels, labels : in any of the forms of ``onlinehash.labels``
    ties : "expected" or "database"

    Examples
    --------
    >>> from onlinehash.codes import bits_to_packed
    >>> codes = bits_to_packed([[0, 0], [0, 1], [1, 1]])
    >>> ranking = HammingRanking(codes[:1], codes, ["cat"], ["cat", "dog", "cat"], n_bits=2)
    >>> round(ranking.mean_average_precision(), 4)
    0.8333
    """

    def __init__(
        self,
        queries: Packed,
        codes: Packed,
        query_labels: Any,
        labels: Any,
        *,
        n_bits: int,
        ties: Ties = "expected",
    ) -> None:
        from onlinehash.kernels.rank import distance_counts

        if ties not in ("expected", "database"):
            raise InvalidParameterError(f'ties must be "expected" or "database", got {ties!r}')
        check_n_bits(n_bits)
        queries = check_packed(queries, n_bits, "queries")
        codes = check_packed(codes, n_bits, "codes")
        if not len(queries) or not len(codes):
            raise InvalidInputError(
                f"expected at least one query and one item, got {len(queries)} and {len(codes)}"
            )
        self.n_bits, self.n_items, self.ties = n_bits, len(codes), ties
        query_masks, masks = shared_label_masks(
            label_rows(query_labels, len(queries)), label_rows(labels, len(codes))
        )
        rows = np.ascontiguousarray(packed_to_words(queries, n_bits).T)
        self._parts = (packed_to_words(codes, n_bits), rows, masks, query_masks)
        self.counts, self.relevant = distance_counts(*self._parts, n_bits)
        self.n_relevant = self.relevant.sum(axis=1)

    def average_precision(self, top: int | None = None, denominator: Denominator = "found") -> Values:
        """AP of each query over the first ``top`` ranks (None: all), NaN where nothing is relevant.

        The sum of the precisions at the relevant ranks is divided by the number of relevant items
        that are "found" in the first ``top``, or "reachable" there, min(top, relevant), or
        "relevant" in the whole database. Over the full ranking these are the same.
        """
        if denominator not in ("found", "reachable", "relevant"):
            raise InvalidParameterError(
                f"denominator must be found, reachable or relevant, got {denominator!r}"
            )
        cut = self._cut(top)
        sums, _, ratio = self._in_order(cut)
        if denominator == "found":
            return ratio
        below = self.n_relevant if denominator == "relevant" else np.minimum(cut, self.n_relevant)
        with np.errstate(invalid="ignore"):
            return np.where(below > 0, sums / below, np.nan)

    def mean_average_precision(
        self, top: int | None = None, denominator: Denominator = "found", empty: Empty = "zero"
    ) -> float:
        """The mean of ``average_precision`` over the queries."""
        return mean(self.average_precision(top, denominator), empty)

    def precision_at(self, k: int) -> float:
        """Mean share of relevant items among the first k (or all, where there are fewer)."""
        cut = self._cut(k)
        return float(np.mean(self._in_order(cut)[1] / cut))

    def precision_within(self, radius: int = 2) -> float:
        """Mean share of relevant items within a Hamming radius; an empty ball counts 0. No ties."""
        items = self.counts[:, : radius + 1].sum(axis=1)
        return float(np.mean(self.relevant[:, : radius + 1].sum(axis=1) / np.maximum(items, 1)))

    def precision_recall_curve(self) -> tuple[Values, Values]:
        """Mean precision and mean recall within each radius 0 … n_bits. No ties.

        Precision is over the queries whose ball is not empty (1 where all are), recall over the
        queries that have a relevant item.
        """
        items, relevant = np.cumsum(self.counts, axis=1), np.cumsum(self.relevant, axis=1)
        filled = np.maximum((items > 0).sum(axis=0), 1)
        precision = (relevant / np.maximum(items, 1)).sum(axis=0) / filled
        precision[(items > 0).sum(axis=0) == 0] = 1
        having = self.n_relevant > 0
        recall = relevant[having] / self.n_relevant[having, None]
        return precision, recall.mean(axis=0) if having.any() else np.zeros(self.n_bits + 1)

    def _cut(self, top: int | None) -> int:
        if top is None:
            return self.n_items
        if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
            raise InvalidParameterError(f"a cut-off must be an int of 1 or more, got {top!r}")
        return min(int(top), self.n_items)

    def _in_order(self, cut: int) -> tuple[Values, Values, Values]:
        """Of the first ``cut`` ranks: sum of precisions at relevant items, number found, their ratio."""
        if self.ties == "expected":
            return expected_precision(self.counts, self.relevant, cut)
        from onlinehash.kernels.rank import in_database_order

        sums, found = in_database_order(*self._parts, self.counts, self.relevant, cut)
        with np.errstate(invalid="ignore"):
            return sums, found.astype(np.float64), np.where(found > 0, sums / found, np.nan)


def mean_average_precision(
    queries: Packed, codes: Packed, query_labels: Any, labels: Any, *,
    n_bits: int, ties: Ties = "expected", top: int | None = None, empty: Empty = "zero",
) -> float:  # fmt: skip
    """mAP of Hamming rankings; see ``HammingRanking``."""
    ranking = HammingRanking(queries, codes, query_labels, labels, n_bits=n_bits, ties=ties)
    return ranking.mean_average_precision(top, empty=empty)


def average_precision(distances: npt.ArrayLike, relevant: npt.ArrayLike, ties: Ties = "expected") -> Values:
    """AP over the full ranking for distances of any kind: (queries, items), small ones first.

    NaN where nothing is relevant. This is the plain way, by sorting: for scores, cosines, and as
    the twin that tests compare ``HammingRanking`` with.
    """
    distances, relevant = np.atleast_2d(distances), np.atleast_2d(relevant).astype(bool)
    result = np.full(len(distances), np.nan)
    for q in np.flatnonzero(relevant.any(axis=1)):
        order = np.argsort(distances[q], kind="stable")
        hits = relevant[q, order]
        if ties == "database":
            result[q] = np.mean(np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1))
        else:
            ordered = distances[q, order]
            starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
            counts = np.diff(np.append(starts, len(ordered)))
            grouped = np.add.reduceat(hits.astype(np.int64), starts)
            result[q] = expected_precision(counts[None], grouped[None], len(ordered))[2][0]
    return result


def expected_precision(
    counts: npt.NDArray[np.int64], relevant: npt.NDArray[np.int64], cut: int
) -> tuple[Values, Values, Values]:
    """Over all orders within groups of ties, of the first ``cut`` ranks, for each row of groups:

    the expected sum of precisions at relevant ranks, the expected number of relevant ones among
    them, and the expected ratio of the two (NaN where nothing relevant can be among them).

    In a group of n items, r of them relevant, after N items with R relevant, rank N + i holds a
    relevant item with probability r/n, and then has 1 + R + (i-1)(r-1)/(n-1) relevant ones up to
    itself (McSherry and Najork, ECIR 2008). Summed over i ≤ m by harmonic numbers.
    """
    before, relevant_before = np.cumsum(counts, axis=1) - counts, np.cumsum(relevant, axis=1) - relevant
    inside = np.clip(cut - before, 0, counts)
    H = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, counts.sum(axis=1).max(initial=0) + 1))])
    harmonic = H[before + inside] - H[before]
    sums = _tied_sum(counts, relevant, inside, before, relevant_before, harmonic)
    found = relevant * (inside / np.maximum(counts, 1))
    total, total_found = sums.sum(axis=1), found.sum(axis=1)
    ratio = np.where(total_found > 0, total / np.where(total_found > 0, total_found, 1), np.nan)

    # Where the cut goes through a group, the number found is itself random: hypergeometric.
    for q, g in zip(*np.nonzero((inside > 0) & (inside < counts) & (relevant > 0)), strict=True):
        n, r, m = int(counts[q, g]), int(relevant[q, g]), int(inside[q, g])
        R = relevant_before[q, g]
        j = np.arange(max(0, m - (n - r)), min(r, m) + 1)
        chance = np.exp(_log_choose(r, j) + _log_choose(n - r, m - j) - _log_choose(n, m))
        of_group = _tied_sum(
            np.full(j.shape, m), j, np.full(j.shape, m), before[q, g], R, np.full(j.shape, harmonic[q, g])
        )
        of_others = total[q] - sums[q, g]
        ratio[q] = np.sum(chance * np.where(R + j > 0, (of_others + of_group) / np.maximum(R + j, 1), 0))
    return total, total_found, ratio


def _tied_sum(n: Any, r: Any, m: Any, N: Any, R: Any, harmonic: Any) -> Values:
    """Expected sum of precisions at the relevant ones of the first m of a group of n with r."""
    slope = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    result: Values = r / np.maximum(n, 1) * (slope * m + (R + 1 - slope * (N + 1)) * harmonic)
    return result


def _log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)


def mean(average_precisions: Values, empty: Empty = "zero") -> float:
    """The mean over queries, those without a relevant item (NaN) as 0 or left out."""
    if empty not in ("zero", "drop"):
        raise InvalidParameterError(f'empty must be "zero" or "drop", got {empty!r}')
    if empty == "drop":
        average_precisions = average_precisions[~np.isnan(average_precisions)]
    return float(np.mean(np.nan_to_num(average_precisions))) if len(average_precisions) else 0.0


def checkpoints(n: int, count: int = 50, random_state: int = 0) -> npt.NDArray[np.int64]:
    """Positions in a stream of n rows at which methods are measured: evenly spaced, the first and
    last row among them, the others moved at random by up to a sixth of the spacing."""
    count = min(count, n)
    at = np.linspace(1, n, count)
    if count > 2:
        sixth = (at[1] - at[0]) / 6
        at[1:-1] += np.random.default_rng(random_state).uniform(-sixth, sixth, count - 2)
    return np.unique(np.rint(at).astype(np.int64))


def area_under_checkpoints(values: npt.ArrayLike) -> float:
    """The literature's "AUC": the plain mean of a metric over the checkpoints of a stream."""
    return float(np.mean(np.asarray(values, np.float64)))
