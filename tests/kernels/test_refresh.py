import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError
from onlinehash.codes import allocate_words, bits_to_packed, packed_to_words, words_to_packed
from onlinehash.kernels.inputs import input_signs, n_inputs
from onlinehash.kernels.refresh import lookup_tables, refresh_codes, refresh_numpy

BITS = st.sampled_from([1, 5, 8, 31, 32, 33, 64, 65, 100, 128, 192, 512])


@given(base_bits=BITS, n_bits=BITS, n=st.integers(0, 700), seed=st.integers(0, 99), pairs=st.booleans())
def test_equals_its_numpy_twin_bit_for_bit(
    base_bits: int, n_bits: int, n: int, seed: int, pairs: bool
) -> None:
    rng = np.random.default_rng(seed)
    base = bits_to_packed(rng.integers(0, 2, (n, base_bits)))
    # whole numbers often sum up to 0 exactly, where sgn(0) = +1 shows
    P = rng.normal(size=(n_inputs(base_bits, pairs), n_bits)).astype(np.float32)
    if seed % 2:
        P = np.rint(P)
    live = refresh_codes(packed_to_words(base, base_bits), lookup_tables(P, base_bits), n_bits)
    expected = refresh_numpy(base, P, base_bits)
    assert (words_to_packed(live, n_bits) == expected).all()
    assert (packed_to_words(expected, n_bits) == live).all(), "padding is not 0"


@pytest.mark.parametrize("n_bits", [4096, 1])
def test_the_longest_and_the_shortest_codes(n_bits: int, rng: np.random.Generator) -> None:
    base = bits_to_packed(rng.integers(0, 2, (40, 4096)))
    P = rng.normal(size=(4096, n_bits)).astype(np.float32)
    live = refresh_codes(packed_to_words(base, 4096), lookup_tables(P), n_bits)
    assert (words_to_packed(live, n_bits) == refresh_numpy(base, P)).all()


def test_is_the_sign_of_the_product(rng: np.random.Generator) -> None:
    bits = rng.integers(0, 2, (500, 96))
    P = rng.normal(size=(96, 48)).astype(np.float32)
    exact = (2.0 * bits - 1) @ P.astype(np.float64)
    live = np.unpackbits(refresh_numpy(bits_to_packed(bits), P), axis=1)
    assert (live == (exact >= 0))[np.abs(exact) > 1e-4].all()


def test_with_pairs_it_is_the_sign_of_the_product_with_all_inputs(rng: np.random.Generator) -> None:
    H = np.packbits(rng.integers(0, 2, (500, 43), np.uint8), axis=1)
    P = rng.normal(size=(n_inputs(43, True), 48)).astype(np.float32)
    exact = input_signs(H, 43, True).astype(float) @ P
    live = np.unpackbits(refresh_numpy(H, P, 43), axis=1)
    assert (live == (exact >= 0))[np.abs(exact) > 1e-4].all()


def test_a_projection_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="P: expected 16 rows, or 72 with those of pairs"):
        lookup_tables(np.zeros((24, 8), np.float32), 16)


def test_a_projection_of_zero_gives_all_ones() -> None:
    base = bits_to_packed(np.zeros((3, 16), int))
    assert (refresh_numpy(base, np.zeros((16, 8), np.float32)) == 255).all()
    words = refresh_codes(packed_to_words(base, 16), lookup_tables(np.zeros((16, 8), np.float32)), 8)
    assert (words == 255).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_views_into_larger_memory(threads: int, rng: np.random.Generator) -> None:
    base = bits_to_packed(rng.integers(0, 2, (20_000, 128)))
    P = rng.normal(size=(128, 70)).astype(np.float32)
    memory, out = allocate_words(128, 30_000), allocate_words(70, 40_000)
    packed_to_words(base, 128, out=memory[:, 7:20_007])
    memory.flags.writeable = False
    refresh_codes(memory[:, 7:20_007], lookup_tables(P), 70, out=out[:, 11:20_011], threads=threads)
    assert (words_to_packed(out[:, 11:20_011], 70) == refresh_numpy(base, P)).all()
    assert not out[:, :11].any()
    assert not out[:, 20_011:].any()


def test_wrong_shapes_are_refused() -> None:
    tables = lookup_tables(np.zeros((64, 64), np.float32))
    with pytest.raises(InvalidInputError, match="base codes"):
        refresh_codes(allocate_words(128, 5), tables, 64)
    with pytest.raises(InvalidInputError, match="out"):
        refresh_codes(allocate_words(64, 5), tables, 64, out=allocate_words(65, 5))
    with pytest.raises(InvalidInputError, match="6 codes"):
        refresh_codes(allocate_words(64, 5), tables, 64, out=allocate_words(64, 6))


def test_the_first_call_of_a_process_from_the_cache() -> None:
    """Memory that the kernel works in must live as long as it works: a fresh heap shows if it does not."""
    code = (
        "import numpy as np\n"
        "from onlinehash.codes import allocate_words\n"
        "from onlinehash.kernels.refresh import lookup_tables, refresh_codes\n"
        "tables = lookup_tables(np.ones((64, 64), np.float32))\n"
        "assert (refresh_codes(allocate_words(64, 50_000), tables, 64, threads=1) == 0).all()\n"
    )
    for _ in range(2):  # the first may compile, and so leave other memory behind
        subprocess.run([sys.executable, "-c", code], check=True)
