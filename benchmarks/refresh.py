"""Refresh: live codes from base codes, beside NumPy, a memory copy, and hashing all items again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.rows import Row, timed
from onlinehash.codes import Words, allocate_words, words_to_packed
from onlinehash.hashers.features import Features
from onlinehash.kernels.hash import sign_of_product
from onlinehash.kernels.refresh import lookup_tables, refresh_codes
from onlinehash.kernels.threads import at_most

SHAPES = ((64, 64), (128, 128), (256, 64), (512, 64))


def rows(quick: bool) -> Iterator[Row]:
    """Millions of codes a second, on one core unless said."""
    for n in (100_000,) if quick else (1_000_000, 10_000_000):
        for base_bits, n_bits in SHAPES:
            yield from _refresh(n, base_bits, n_bits)
    yield _rehash(2_000 if quick else 20_000)


def random_words(n_bits: int, n: int) -> Words:
    """Random codes, word-major."""
    words = allocate_words(n_bits, n)
    rng = np.random.default_rng(0)
    for row in words:
        row[:] = rng.integers(0, 2**64, size=n, dtype=np.uint64)
    return words


def _refresh(n: int, base_bits: int, n_bits: int) -> Iterator[Row]:
    base, out = random_words(base_bits, n), allocate_words(n_bits, n)
    P = np.random.default_rng(1).standard_normal((base_bits, n_bits), np.float32)
    case = f"{base_bits}→{n_bits} bits, {n / 1e6:g}M codes"

    # the tables are part of it: P has moved
    ours = timed(lambda: refresh_codes(base, lookup_tables(P), n_bits, out, threads=1), 2)
    some = words_to_packed(base[:, :100_000], base_bits)
    with at_most(1):
        numpy = timed(lambda: _numpy(some, P), 2).wall / len(some) * n
    goal = 5 if (base_bits, n_bits) == (64, 64) else None
    yield Row(
        "refresh", case, "M codes/s", n / ours.wall / 1e6, n / numpy / 1e6, "NumPy: unpack, multiply, pack",
        numpy / ours.wall, goal, {"cpu": ours.cpu, "wall": ours.wall},
    )  # fmt: skip

    both = timed(lambda: refresh_codes(base, lookup_tables(P), n_bits, out), 2).wall
    yield Row(
        "refresh, all cores",
        case,
        "M codes/s",
        n / both / 1e6,
        n / ours.wall / 1e6,
        "one core",
        ours.wall / both,
    )

    source, target = base.view(np.uint8), np.empty(base.nbytes // 2 + out.nbytes // 2, np.uint8)
    moved = np.resize(source.ravel()[: len(target)], len(target))
    copy = timed(lambda: np.copyto(target, moved), 2).wall  # as many bytes read plus written
    yield Row(
        "refresh", case, "GB/s", (base.nbytes + out.nbytes) / ours.wall / 1e9, 2 * len(target) / copy / 1e9,
        "a memory copy of as many bytes", copy / ours.wall,
    )  # fmt: skip


def _numpy(base: npt.NDArray[np.uint8], P: npt.NDArray[np.float32]) -> None:
    for start in range(0, len(base), 10_000):
        signs = np.unpackbits(base[start : start + 10_000], axis=1).astype(np.float32)
        signs *= 2
        signs -= 1
        np.packbits(signs @ P >= 0, axis=1)


def _rehash(n: int) -> Row:
    """What a method whose hash functions move must do: read every item's features, hash them again."""
    width, n_bits = 4096, 64
    W = np.random.default_rng(0).standard_normal((width, n_bits), np.float32)
    features = Features(np.zeros(width, np.float32), True)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "features.npy"
        np.save(path, np.random.default_rng(1).standard_normal((n, width), np.float32))

        def rehash() -> None:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # from the disk itself
            X = np.load(path, mmap_mode="r")
            for start in range(0, n, 1000):
                sign_of_product(features(np.array(X[start : start + 1000])), W)

        again = timed(rehash, 1, 0).wall / n
    many = 1_000_000
    base, out = random_words(n_bits, many), allocate_words(n_bits, many)
    P = np.random.default_rng(1).standard_normal((n_bits, n_bits), np.float32)
    ours = timed(lambda: refresh_codes(base, lookup_tables(P), n_bits, out)).wall / many
    return Row(
        "refresh", "64→64 bits, all cores", "ns/item", ours * 1e9, again * 1e9,
        f"reading {width} float32 an item from disk and hashing again", again / ours,
    )  # fmt: skip
