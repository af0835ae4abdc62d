"""Is it worth looking at fewer codes? faiss's approximate binary indexes on live codes of photographs.

Live codes are learnt from the photographs' labels and replicated with 2 bits of noise on average. An
approximate index is built from live codes, so each refresh costs a build; the exact scan has nothing to
build. For each: recall of the 10 nearest (by distance, as ties are many), time a query, time to build,
and after how many queries since the last refresh it has caught up with the exact scan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from benchmarks import photographs
from benchmarks.rows import Row, timed
from onlinehash import OHWEU, nearest
from onlinehash.codes import packed_to_words

K, BITS, NOISE = 10, 64, 2 / 64
Codes = npt.NDArray[np.uint8]


def rows(quick: bool) -> Iterator[Row]:
    """64 bits, ten thousand codes or 200,000."""
    if not photographs.available():
        print(photographs.MISSING)
        return
    codes, queries = _codes(10_000 if quick else 200_000)
    words = packed_to_words(codes, BITS)
    scan = timed(lambda: nearest(words, queries, K, BITS)).wall / len(queries)
    _, exact = nearest(words, queries, K, BITS)
    for name, binary, efforts in _indexes(len(codes)):
        started = time.perf_counter()
        if not binary.is_trained:
            binary.train(codes)
        binary.add(codes)
        build = time.perf_counter() - started
        for effort, put in efforts:
            put(binary)
            found, _ = binary.search(queries, K)
            recall = float((found <= exact[:, -1:]).mean())
            seconds = timed(lambda binary=binary: binary.search(queries, K)).wall / len(queries)  # type: ignore[misc]
            more = {"s to build": build}
            if seconds < scan:
                more["queries until that has paid"] = build / (scan - seconds)
            yield Row(
                f"{name}, {effort}", f"{len(codes):,} codes, recall {recall:.3f}", "s/query", seconds,
                scan, "exact scan, in batches", scan / seconds,
                more=more,
            )  # fmt: skip


def _codes(n: int) -> tuple[Codes, Codes]:
    split = photographs.split("all", 0)
    hasher = OHWEU(BITS, base_bits=512, n_init=1000).fit(split.X, split.Y)
    real = hasher.encode(split.X)
    rng = np.random.default_rng(0)
    codes = real[rng.integers(len(real), size=n)]
    for start in range(0, n, 100_000):
        part = codes[start : start + 100_000]
        part ^= np.packbits(rng.random((len(part), BITS)) < NOISE, axis=1)
    return codes, hasher.encode_query(split.X_query[:50])


def _indexes(n: int) -> Iterator[tuple[str, Any, list[tuple[str, Any]]]]:
    lists = 1 << int(np.log2(np.sqrt(n)))
    quantizer = faiss.IndexBinaryFlat(BITS)
    yield (
        f"IVF of {lists} lists",
        faiss.IndexBinaryIVF(quantizer, BITS, lists),
        [(f"{probes} probed", lambda index, p=probes: setattr(index, "nprobe", p)) for probes in (1, 8, 32)],
    )
    yield (
        "HNSW of 16 links",
        faiss.IndexBinaryHNSW(BITS, 16),
        [(f"search of {ef}", lambda index, e=ef: setattr(index.hnsw, "efSearch", e)) for ef in (16, 64, 256)],
    )
    yield (
        "multi-index hashing, 4 × 16 bits",
        faiss.IndexBinaryMultiHash(BITS, 4, 16),
        [(f"{flips} flips", lambda index, f=flips: setattr(index, "nflip", f)) for flips in (0, 1)],
    )
