"""Jobs: one measurement each, with everything that it depends on; and which ones each part needs.

A job is written down beside its result, and its key is a digest of it: what has been measured is
never measured again, and another setting, seed or version of a parameter is another job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal

from onlinehash.errors import InvalidParameterError
from onlinehash.paper.methods import METHODS, RIVALS, Parameters
from onlinehash.paper.sources import MS_COCO, NUS_WIDE, Made, Setting

Kind = Literal["tune", "stream", "C", "time", "accumulate", "width"]

PARTS = ("table1", "table2", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7")
_LATER = {"half_life": None}  # parameters that came after results had been written, at what they were before
TIMED = ("time", "accumulate", "width")  # kinds that want the machine for themselves
ON_DATA = ("fig2", "fig3", "fig4", "fig6", "fig7")  # parts that measure codes, not only time


@dataclass(frozen=True, slots=True)
class Tier:
    """How much is measured."""

    name: str
    bits: tuple[int, ...]
    repeats: int
    queries: int
    validation: int
    shares: tuple[float, ...]  # of the stream, at which codes are looked at
    Cs: tuple[float, ...]
    timed_rows: int | None  # rows that training times are taken over; None for all that the paper has
    published_rows: int  # rows that the published programs' loops are timed over
    accumulated_chunks: int
    widths: tuple[int, ...]
    tuned: bool  # whether rivals' parameters are chosen on a validation part


_SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_CS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 10.0)
TIERS = {
    "quick": Tier(
        "quick", (16, 32), 1, 200, 100, (0.1, 0.4, 1.0), (1e-3, 1e-2, 0.1, 1.0), 1_000, 20, 4, (256, 1024),
        False,
    ),
    "standard": Tier(
        "standard", (32, 64, 96, 128), 3, 2000, 1000, _SHARES, _CS, 20_000, 200, 40, (512, 1024, 2048, 4096),
        True,
    ),
    "paper": Tier(
        "paper", (32, 64, 96, 128), 3, 2000, 1000, _SHARES, _CS, None, 200, 40, (512, 1024, 2048, 4096), True
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement. ``setting`` names the data, ``settings`` of the protocol say the rest."""

    kind: Kind
    data: str
    method: str
    n_bits: int
    seed: int = 0
    parameters: Parameters = field(default_factory=dict)
    protocol: Parameters = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A digest of all of it, with the parameters that are the method's defaults."""
        known = METHODS[self.method].make(self.n_bits, self.seed, self.parameters).get_params()
        of_method = {k: v for k, v in known.items() if k not in _LATER or v != _LATER[k]}
        text = json.dumps([asdict(self), of_method], sort_keys=True)
        return blake2b(text.encode(), digest_size=12).hexdigest()

    @property
    def title(self) -> str:
        """For progress and logs."""
        return f"{self.kind}: {self.data}, {self.method}, {self.n_bits} bits, repeat {self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """As it is written down."""
        return asdict(self)

    def with_parameters(self, parameters: Parameters) -> Job:
        """The same job with parameters that have been chosen meanwhile."""
        return replace(self, parameters=parameters)


def check_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts asked for, in the paper's order; none, or "all", is all of them."""
    wrong = [part for part in parts if part not in (*PARTS, "all")]
    if wrong:
        raise InvalidParameterError(f"expected parts among {', '.join(PARTS)} or all, got {wrong[0]!r}")
    return PARTS if not parts or "all" in parts else tuple(part for part in PARTS if part in parts)


def plan(parts: Sequence[str], tier: Tier, settings: Sequence[Setting]) -> list[Job]:
    """All jobs of these parts, those that others wait for first, those that are timed last."""
    jobs: dict[str, Job] = {}
    for job in _jobs(check_parts(parts), tier, settings):
        jobs.setdefault(job.key, job)
    order = ("tune", "C", "stream", *TIMED)
    return sorted(jobs.values(), key=lambda job: order.index(job.kind))


def _jobs(parts: Sequence[str], tier: Tier, settings: Sequence[Setting]) -> Iterator[Job]:
    drawn = {"queries": tier.queries, "validation": tier.validation}
    if set(parts) & {"fig2", "fig3", "fig4", "fig7"}:
        for setting in settings:
            if tier.tuned:
                for name in RIVALS:
                    for candidate in METHODS[name].candidates():
                        yield Job("tune", setting.name, name, tier.bits[0], 0, candidate, drawn)
            for name in METHODS:
                for n_bits in tier.bits:
                    chosen: Parameters = {} if tier.tuned else dict(METHODS[name].small)
                    for seed in range(tier.repeats):
                        protocol = {**drawn, "shares": tier.shares}
                        yield Job("stream", setting.name, name, n_bits, seed, chosen, protocol)
    if "fig6" in parts:
        for setting in settings:
            for seed in range(tier.repeats):
                for C in tier.Cs:
                    for rule in ("paper", "released"):
                        for average in (False, True):
                            step = {"C_P": C, "C_R": C, "rule": rule, "average": average}
                            yield Job("C", setting.name, "ohweu-paper", tier.bits[0], seed, step, drawn)
    for part, made in (("table1", NUS_WIDE), ("table2", MS_COCO)):
        if part in parts:
            yield from _times(made, tier)
    if "fig5" in parts:
        for name in ("ohweu-paper", "ohweu", *RIVALS):
            yield Job("accumulate", NUS_WIDE.name, name, 64, 0, {}, {"chunks": tier.accumulated_chunks})
            for width in tier.widths:
                yield Job("width", "made", name, 64, 0, {}, {"width": width, "rows": 5 * tier.published_rows})


def _times(made: Made, tier: Tier) -> Iterator[Job]:
    rows = tier.timed_rows or made.n
    for name in ("ohweu-paper", "ohweu", *RIVALS):
        for n_bits in tier.bits:
            yield Job("time", made.name, name, n_bits, 0, {}, {"rows": rows})
            if METHODS[name].published_loop:
                # the paper's boosted OSupH is the one whose cost its tables show
                of_loop: Parameters = {"as_published": True} | ({"rule": "boost"} if name == "osuph" else {})
                yield Job("time", made.name, name, n_bits, 0, of_loop, {"rows": tier.published_rows})
