from concurrent.futures import ThreadPoolExecutor
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError, InvalidParameterError, nearest
from onlinehash.codes import Packed, Words, allocate_words, bits_to_packed, packed_to_words
from onlinehash.kernels import scan
from onlinehash.kernels.scan import nearest_numpy


def made(n: int, n_bits: int, seed: int = 0, spread: float = 0.5) -> tuple[Packed, Words]:
    """Codes around few centres where spread is small: many ties, many duplicates."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 2, (5, n_bits), np.uint8)
    bits = centres[rng.integers(5, size=n)] ^ (rng.random((n, n_bits)) < spread).astype(np.uint8)
    packed = bits_to_packed(bits)
    return packed, packed_to_words(packed, n_bits)


@given(
    n=st.integers(1, 3000),
    n_bits=st.sampled_from([1, 7, 8, 32, 64, 65, 96, 128, 200, 256]),
    k=st.integers(1, 3500),
    n_queries=st.integers(1, 5),
    spread=st.sampled_from([0.0, 0.05, 0.5]),
    allowed=st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]),
    threads=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_equals_its_numpy_twin(
    n: int, n_bits: int, k: int, n_queries: int, spread: float, allowed: float | None, threads: int, seed: int
) -> None:
    codes, words = made(n, n_bits, seed, spread)
    queries = np.concatenate([codes[:2], made(n_queries, n_bits, seed + 1)[0]])
    mask = None if allowed is None else np.random.default_rng(seed).random(n) < allowed
    slots, distances = nearest(words, queries, k, n_bits, allowed=mask, threads=threads)
    slots_expected, distances_expected = nearest_numpy(words, queries, k, n_bits, mask)
    assert slots.shape == distances.shape == (len(queries), min(k, n if mask is None else mask.sum()))
    assert (distances == distances_expected).all()
    assert (slots == slots_expected).all()


@pytest.mark.parametrize("k", [1, 10, 1000, 60_000])
@pytest.mark.parametrize("spread", [0.02, 0.5])
def test_parts_of_a_large_array_are_merged_exactly(k: int, spread: float) -> None:
    codes, words = made(60_000, 64, spread=spread)
    slots, distances = nearest(words, codes[:20], k, 64, threads=4)
    slots_expected, distances_expected = nearest_numpy(words, codes[:20], k, 64)
    assert (slots == slots_expected).all()
    assert (distances == distances_expected).all()


def test_slots_in_the_order_of_falling_distance_thin_the_buffer_out() -> None:
    # the worst case for the candidates: every slot is nearer than all before it, in long plateaus
    bits = np.tri(65, 64, dtype=np.uint8)[np.repeat(np.arange(65), 500)]
    codes = bits_to_packed(bits)
    words = packed_to_words(codes, 64)
    query = bits_to_packed(np.ones((1, 64), int))
    for k in (1, 7, 700, 5000):
        slots, distances = nearest(words, query, k, 64, threads=1)
        expected = nearest_numpy(words, query, k, 64)
        assert (slots == expected[0]).all()
        assert (distances == expected[1]).all()


@pytest.mark.parametrize("n_bits", [64, 128, 256, 512, 1024, 4096])
def test_distances_equal_those_of_faiss(n_bits: int) -> None:
    codes, words = made(5000, n_bits, spread=0.1)
    index = faiss.IndexBinaryFlat(n_bits)
    index.add(codes)
    _, distances = nearest(words, codes[:30], 50, n_bits)
    assert (distances == index.search(codes[:30], 50)[0]).all()


@pytest.mark.parametrize("offset", [0, 1, 3, 8])
def test_views_into_larger_memory(offset: int) -> None:
    codes, words = made(3000, 100)
    memory = allocate_words(100, 5000)
    memory[...] = 0
    view = memory[:, offset : offset + 3000]
    view[...] = words
    assert (nearest(view, codes[:9], 30, 100)[0] == nearest_numpy(words, codes[:9], 30, 100)[0]).all()


def test_read_only_memory_and_many_callers_at_once() -> None:
    codes, words = made(20_000, 64)
    words.flags.writeable = False
    expected = nearest_numpy(words, codes[:8], 20, 64)[0]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: nearest(words, codes[:8], 20, 64)[0], range(32)))
    assert all((slots == expected).all() for slots in found)


def test_memory_is_bounded_by_scanning_few_queries_together(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, words = made(3000, 64)
    monkeypatch.setattr(scan, "_BUFFER_BYTES", 100_000)
    assert (nearest(words, codes[:50], 3000, 64)[0] == nearest_numpy(words, codes[:50], 3000, 64)[0]).all()


def test_no_items_no_queries() -> None:
    codes, words = made(10, 64)
    assert nearest(words[:, :0], codes, 3, 64)[0].shape == (10, 0)
    assert nearest(words, codes[:0], 3, 64)[0].shape == (0, 3)


@pytest.mark.parametrize("k", [0, -1, 1.0, True, None])
def test_a_wrong_k_is_refused(k: Any) -> None:
    codes, words = made(10, 64)
    with pytest.raises(InvalidParameterError, match="k must be"):
        nearest(words, codes, k, 64)


def test_wrong_queries_and_masks_are_refused() -> None:
    codes, words = made(10, 64)
    with pytest.raises(InvalidInputError, match="queries: expected packed"):
        nearest(words, codes[:, :7], 3, 64)
    with pytest.raises(InvalidInputError, match=r"allowed: expected a bool array of shape \(10,\)"):
        nearest(words, codes, 3, 64, allowed=np.ones(9, bool))
    with pytest.raises(InvalidInputError, match="got int64"):
        nearest(words, codes, 3, 64, allowed=np.arange(10))  # type: ignore[arg-type]
