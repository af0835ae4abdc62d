"""The paper's claims, one by one, held against what was measured here: true or not, with figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from onlinehash.paper.figures import mAP_by_C
from onlinehash.paper.found import Found
from onlinehash.paper.methods import METHODS, RIVALS
from onlinehash.paper.sources import MS_COCO, NUS_WIDE, Setting
from onlinehash.paper.tables import as_seconds

Verdict = Literal["holds", "does not hold", "holds in part"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, what is found here, and the figures that decide."""

    says: str
    verdict: Verdict
    figures: list[str]


def claims(found: Found, settings: Sequence[Setting]) -> list[Claim]:
    """All claims for which there is something to decide them by."""
    shown = [setting for setting in settings if found.of("stream", data=setting.name)]
    judged = [
        _fastest(found),
        _features_do_not_matter(found),
        _growth(found),
        _asymmetric(found, shown),
        _best_C(found, settings),
        _best_codes(found, shown),
        _no_straw_man(found, shown),
    ]
    return [claim for claim in judged if claim]


def _verdict(held: Sequence[bool]) -> Verdict:
    return "holds" if all(held) else "holds in part" if any(held) else "does not hold"


def _fastest(found: Found) -> Claim | None:
    held, figures = [], []
    for made in (NUS_WIDE, MS_COCO):
        for bits in found.distinct("n_bits", "time", data=made.name):
            seconds = {
                name: record["values"]["seconds"]
                for name in ("ohweu-paper", *RIVALS)
                for record in found.of("time", data=made.name, method=name, n_bits=bits)
                if not record["job"]["parameters"].get("as_published")
            }
            ours = seconds.pop("ohweu-paper", None)
            if ours is None or not seconds:
                continue
            quickest = min(seconds, key=lambda name: seconds[name])
            held.append(ours <= seconds[quickest])
            theirs = seconds[quickest]
            figures.append(
                f"{made.title}, {bits} bits: OHWEU {as_seconds(ours)} s; the quickest rival's fast form, "
                f"{METHODS[quickest].title}, {as_seconds(theirs)} s ({theirs / ours:.2f}×)"
            )
    if not held:
        return None
    says = "OHWEU is the fastest to train, at each number of bits (here: against every rival's fast form)"
    return Claim(says, _verdict(held), figures)


def _features_do_not_matter(found: Found) -> Claim | None:
    growth = {}
    for method in ("ohweu-paper", "ohweu", *RIVALS):
        each = {
            record["job"]["protocol"]["width"]: record["values"]["seconds an item"]
            for record in found.of("width", method=method)
        }
        if len(each) > 1:
            growth[method] = (each[max(each)] / each[min(each)], max(each) / min(each))
    if not growth:
        return None
    held = [(ratio < 1.5) == METHODS[method].is_ohweu for method, (ratio, _) in growth.items()]
    figures = [
        f"{METHODS[method].title}: {wider:g} times the features, {ratio:.2f} times the refresh"
        for method, (ratio, wider) in growth.items()
    ]
    return Claim("only OHWEU's refresh does not cost more with more features", _verdict(held), figures)


def _growth(found: Found) -> Claim | None:
    held, figures = [], []
    for method in ("ohweu-paper", "ohweu", *RIVALS):
        for record in found.of("accumulate", method=method):
            looks = record["values"]["accumulated"]
            n = np.array([look["n"] for look in looks], np.float64)
            total = np.array([look["total"] for look in looks])
            linear, quadratic = growth(n, total)
            share = quadratic * n[-1] / max(linear + quadratic * n[-1], 1e-12)
            held.append((share < 0.5) == METHODS[method].is_ohweu)
            figures.append(
                f"{METHODS[method].title}: {total[-1]:,.1f} s after {n[-1]:,.0f} items, of which {share:.0%} "
                f"grows with the square ({linear * 1e6:.3g} µs·n + {quadratic * 1e9:.3g} ns·n²)"
            )
    if not held:
        return None
    says = "accumulated time grows with the square of the items received, but for OHWEU about linearly"
    return Claim(says, _verdict(held), figures)


def growth(n: np.ndarray, total: np.ndarray) -> tuple[float, float]:
    """Non-negative a and b of total ≈ a n + b n², by least squares on relative errors."""
    from scipy.optimize import nnls

    (linear, quadratic), _ = nnls(np.column_stack([n, n**2]) / total[:, None], np.ones(len(n)))
    return float(linear), float(quadratic)


def _asymmetric(found: Found, settings: Sequence[Setting]) -> Claim | None:
    held, figures = [], []
    for setting in settings:
        for method in ("ohweu-paper", "ohweu-released", "ohweu"):
            gains = []
            for bits in found.distinct("n_bits", "stream", data=setting.name, method=method):
                of = {"data": setting.name, "method": method, "n_bits": bits}
                both = [found.mean(name, "stream", **of) for name in ("mAP", "mAP, symmetric")]
                if None not in both:
                    gains.append((bits, both[0] - both[1]))  # type: ignore[operator]
            held += [gain > 0 for _, gain in gains]
            if gains:
                words = ", ".join(f"{gain:+.3f} at {bits} bits" for bits, gain in gains)
                figures.append(f"{setting.title}, {METHODS[method].title}: {words}")
    return (
        Claim("asymmetric queries are better than symmetric ones", _verdict(held), figures) if held else None
    )


def _best_C(found: Found, settings: Sequence[Setting]) -> Claim | None:
    held, figures = [], []
    for setting in settings:
        for rule, name in (("paper", "Eq. 14"), ("released", "the authors' rule")):
            for average in (False, True):
                by_C = mAP_by_C(found, setting.name, rule, average)
                if not by_C or 0.1 not in by_C:
                    continue
                best = max(by_C, key=lambda C: by_C[C])
                if not average:
                    held.append(by_C[best] - by_C[0.1] < 0.01)
                figures.append(
                    f"{setting.title}, {name}, {'mean of iterates' if average else 'last iterate'}: best "
                    f"{by_C[best]:.3f} at C={best:g}; {by_C[0.1]:.3f} at C=0.1"
                )
    if not held:
        return None
    return Claim(
        "C = 0.1 is a good choice (here: within 0.01 mAP of the best C, last iterate)",
        _verdict(held),
        figures,
    )


def _best_codes(found: Found, settings: Sequence[Setting]) -> Claim | None:
    held, figures = [], []
    for setting in settings:
        for bits in found.distinct("n_bits", "stream", data=setting.name):
            means = {
                name: found.mean("mAP", "stream", data=setting.name, method=name, n_bits=bits)
                for name in METHODS
            }
            measured = {name: mean for name, mean in means.items() if mean is not None}
            order = sorted(measured, key=lambda name: -measured[name])
            others = [name for name in order if not METHODS[name].is_ohweu]
            if "ohweu-paper" in order and others:
                held.append(measured["ohweu-paper"] >= measured[others[0]])
            words = ", ".join(f"{METHODS[name].title} {measured[name]:.3f}" for name in order)
            figures.append(f"{setting.title}, {bits} bits: {words}")
    if not held:
        return None
    says = (
        "OHWEU's codes are the best (here: by the paper's letter, against rivals set as well as they can be)"
    )
    return Claim(says, _verdict(held), figures)


def _no_straw_man(found: Found, settings: Sequence[Setting]) -> Claim | None:
    held, figures = [], []
    for setting in settings:
        for name in RIVALS:
            gains = []
            for bits in found.distinct("n_bits", "stream", data=setting.name, method=name):
                of = {"data": setting.name, "n_bits": bits}
                mine, lsh = (found.mean("mAP", "stream", method=m, **of) for m in (name, "lsh"))
                if mine is not None and lsh is not None:
                    gains.append((bits, mine - lsh))
            if gains:
                held += [gain > 0.01 for _, gain in gains]
                words = ", ".join(f"{gain:+.3f} at {bits} bits" for bits, gain in gains)
                figures.append(f"{setting.title}, {METHODS[name].title}: {words}")
    says = "(not the paper's) no rival is a straw man: each is clearly better than random projections"
    return Claim(says, _verdict(held), figures) if held else None
