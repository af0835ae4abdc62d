"""What is compared, and between which parameters the validation part chooses.

Rivals start from their authors' parameters (their classes' defaults). Each then gets a small grid
over what matters most to it; the best on the validation part, at one number of bits and one seed,
is what it is measured with. OHWEU's three lines are never tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from onlinehash.hashers.base import OnlineHasher
from onlinehash.hashers.bsodh import BSODH
from onlinehash.hashers.itq import ITQ
from onlinehash.hashers.lsh import LSH
from onlinehash.hashers.mihash import MIHash
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.hashers.okh import OKH
from onlinehash.hashers.osh import OSH
from onlinehash.hashers.osuph import OSupH

Parameters = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """A line in the tables and figures."""

    name: str
    title: str
    kind: Callable[..., OnlineHasher]
    fixed: tuple[tuple[str, Any], ...] = ()
    grid: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    small: tuple[tuple[str, Any], ...] = ()  # for streams of hundreds of rows, where nothing is tuned
    online: bool = True  # whether it learns from the stream at all
    published_loop: bool = False  # whether it can also learn as its authors' program does

    def make(self, n_bits: int, seed: int, parameters: Parameters | None = None) -> OnlineHasher:
        """A hasher that has learnt nothing."""
        hasher = self.kind(n_bits, random_state=seed)
        hasher.set_params(**dict(self.fixed), **(parameters or {}))
        return hasher

    def candidates(self) -> list[Parameters]:
        """All combinations of the grid."""
        names = [name for name, _ in self.grid]
        return [
            dict(zip(names, values, strict=True)) for values in product(*(values for _, values in self.grid))
        ]

    @property
    def is_ohweu(self) -> bool:
        """Whether this is one of OHWEU's lines."""
        return self.name.startswith("ohweu")


METHODS = {
    method.name: method
    for method in (
        Method("ohweu", "OHWEU, our defaults", OHWEU),
        Method("ohweu-released", "OHWEU, the authors' rule", OHWEU.as_published, (("rule", "released"),)),
        Method("ohweu-paper", "OHWEU, the paper's letter", OHWEU.as_published),
        Method(
            "osuph", "OSupH", OSupH, grid=(("rule", ("hinge", "boost")), ("step", (0.01, 0.03, 0.1, 0.3))),
            published_loop=True,
        ),
        Method(
            "mihash", "MIHash", MIHash,
            grid=(("sharpness", (10.0, 30.0, 100.0)), ("step", (0.003, 0.03, 0.25, 2.0))),
            small=(("step", 0.03), ("sharpness", 30.0)),
            published_loop=True,
        ),
        Method(
            "okh", "OKH", OKH,
            grid=(("C", (0.01, 0.1, 1.0)), ("beta", (0.3, 0.5)), ("bandwidth", (0.25, 1.0))),
        ),
        Method(
            "bsodh", "BSODH", BSODH,
            grid=(
                ("eta_d", ("auto", 0.2)), ("lam", (0.1, 0.6)), ("chunk_size", (500, 2000)),
                ("iterations", (3, 10)),
            ),
            small=(("chunk_size", 200), ("eta_d", "auto")),
        ),
        Method("osh", "OSH", OSH, grid=(("sketch_size", (None, 400)), ("chunk_size", (300, 1000)))),
        Method("itq", "PCA-ITQ", ITQ, online=False),
        Method("lsh", "LSH", LSH, online=False),
    )
}  # fmt: skip
RIVALS = ("osuph", "mihash", "okh", "bsodh", "osh")

# The paper's Tables 1 and 2: seconds to train, by the number of bits.
PUBLISHED_SECONDS = {
    "made-like-nus-wide": {
        "ohweu-paper": {32: 181, 64: 354, 96: 550, 128: 688},
        "osh": {32: 484, 64: 524, 96: 600, 128: 693},
        "osuph": {32: 2965, 64: 14147, 96: 33544, 128: 60549},
        "mihash": {32: 17759, 64: 27009, 96: 40121, 128: 64800},
        "bsodh": {32: 2116, 64: 2405, 96: 2882, 128: 3498},
    },
    "made-like-ms-coco": {
        "ohweu-paper": {32: 125, 64: 245, 96: 208, 128: 466},
        "osh": {32: 335, 64: 388, 96: 486, 128: 606},
        "osuph": {32: 3650, 64: 12231, 96: 25880, 128: 53349},
        "mihash": {32: 43092, 64: 60451, 96: 73380, 128: 80787},
        "bsodh": {32: 3052, 64: 3252, 96: 3617, 128: 3787},
    },
}
