"""Scan: exact k nearest beside faiss's IndexBinaryFlat, with the same number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import faiss
import numpy as np

from benchmarks.refresh import random_words
from benchmarks.rows import Row, timed
from onlinehash.codes import Packed, Words, allocate_words, packed_to_words, words_to_packed
from onlinehash.kernels.scan import nearest


def rows(quick: bool) -> Iterator[Row]:
    """Billions of codes compared a second, one thread unless said; goals at 64 bits on AVX-512."""
    for n in (100_000,) if quick else (1_000_000, 10_000_000):
        for n_bits, made in product((64,) if quick else (32, 64, 96, 128, 256), ("random", "clustered")):
            words = random_codes(n_bits, n) if made == "random" else clustered_codes(n_bits, n)
            codes = words_to_packed(words, n_bits)
            index = faiss.IndexBinaryFlat(n_bits)
            index.add(codes)
            # queries near to stored codes, as in life: a stored code with some bits flipped
            queries = codes[:: n // 100][:100] ^ np.uint8(1)
            queries[:, -1] &= np.uint8(0xFF << (-n_bits % 8) & 0xFF)
            threads_of = {(1, 10): (1, 2), (100, 10): (1, 2)} if made == "random" else {}
            for n_queries, k in product((1, 100), (10, 100, 1000)):
                for threads in threads_of.get((n_queries, k), (1,)):
                    yield _scan(words, queries[:n_queries], k, n_bits, index, made, threads)


def _scan(
    words: Words, queries: Packed, k: int, n_bits: int, index: faiss.IndexBinaryFlat, made: str, threads: int
) -> Row:
    n = words.shape[1]
    faiss.omp_set_num_threads(threads)
    repeats = 5 if len(queries) == 1 else 2
    ours = timed(lambda: nearest(words, queries, k, n_bits, threads=threads), repeats)
    peer = timed(lambda: index.search(queries, k), repeats)
    assert (nearest(words, queries, k, n_bits)[1] == index.search(queries, k)[0]).all()
    compared = n * len(queries) / 1e9
    goal = (8.0 if len(queries) == 100 else 2.0) if n_bits == 64 and k == 10 and made == "random" else 1.0
    return Row(
        f"scan, {threads} thread{'s' * (threads > 1)}",
        f"{n_bits} bits, {n / 1e6:g}M {made} codes, queries={len(queries)}, k={k}",
        "G codes/s", compared / ours.wall, compared / peer.wall, "faiss IndexBinaryFlat",
        peer.wall / ours.wall, goal, {"cpu": ours.cpu, "wall": ours.wall},
    )  # fmt: skip


def random_codes(n_bits: int, n: int) -> Words:
    """Independent bits."""
    words = random_words(n_bits, n)
    if n_bits % 64:
        mask = packed_to_words(np.packbits(np.ones((1, n_bits), np.uint8), axis=1), n_bits)
        words[-1] &= mask[-1, 0]
    return words


def clustered_codes(n_bits: int, n: int) -> Words:
    """1,000 centres with some 6% of the bits flipped: many near neighbours, many ties."""
    centres = words_to_packed(random_codes(n_bits, 1000), n_bits)
    rng = np.random.default_rng(2)
    words = allocate_words(n_bits, n)
    for start in range(0, n, 1_000_000):
        codes = centres[rng.integers(1000, size=min(1_000_000, n - start))]
        flipped = rng.integers(0, 256, codes.shape, np.uint8)
        for _ in range(3):
            flipped &= rng.integers(0, 256, codes.shape, np.uint8)
        packed_to_words(codes ^ flipped, n_bits, out=words[:, start : start + len(codes)])
    if n_bits % 64:
        words[-1] &= np.uint64(2 ** (8 * (n_bits % 64 // 8)) - 1)
    return words
