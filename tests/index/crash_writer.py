"""A process that writes until it is killed, and says what was acknowledged. Not a test by itself.

Every step is drawn from its number alone, so that whoever reads the last number knows every step.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash import OHWEU, Index

DIM, N_BITS = 8, 16


def step_of(number: int) -> tuple[str, list[int], Any]:
    """What step ``number`` does: its kind, the ids and the vectors."""
    rng = np.random.default_rng(number)
    kind = str(rng.choice(["add", "add", "add", "delete", "learn", "replace"]))
    n = int(rng.choice([1, 1, 3, 200]))
    ids = list(range(1000 * number, 1000 * number + n))
    if kind in ("delete", "replace"):
        ids = ids[:1] if number == 0 else [1000 * int(rng.integers(number))]
        n = 1
    return kind, ids, rng.normal(size=(n, DIM)).astype(np.float32)


def apply(index: Index, number: int) -> None:
    """Do step ``number``."""
    kind, ids, X = step_of(number)
    payloads = [{"step": number} for _ in ids]
    if kind == "add":
        index.add(ids, X, payloads=payloads)
    elif kind == "replace":
        index.add(ids, X, payloads=payloads, replace=True)
    elif kind == "delete":
        index.delete(ids, missing_ok=True)
    else:
        index.learn(X, ["left" if x[0] < 0 else "right" for x in X], wait=number % 2 == 0)


def expected(last: int) -> dict[int, int]:
    """The step in which each item was written, after steps 0 to ``last``."""
    items: dict[int, int] = {}
    for number in range(last + 1):
        kind, ids, _ = step_of(number)
        for id in ids:
            if kind in ("add", "replace"):
                items[id] = number
            elif kind == "delete":
                items.pop(id, None)
    return items


def say(what: object) -> None:
    """To whoever kills this process."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def opened(path: Path, ray_address: str | None) -> Index:
    """Opened, or created; on a cluster where the address of Ray is given."""
    hasher = OHWEU(N_BITS, n_init=50)
    if ray_address is None:
        return Index.create(path, dim=DIM, hasher=hasher, exist_ok=True)
    import ray

    from onlinehash import cluster

    ray.init(ray_address, log_to_driver=False)
    if path.exists():
        return cluster.open(path, shards=2)
    return cluster.create(path, dim=DIM, hasher=hasher, shards=2, stripe=64)


def main(path: Path, first: int, ray_address: str | None = None) -> None:
    """Open or create, then step by step, each number written once it is done."""
    with opened(path, ray_address) as index:
        say("open")
        number = first
        while True:
            apply(index, number)
            say(number)
            number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
