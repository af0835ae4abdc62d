from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError, InvalidParameterError, codes

N_BITS = st.one_of(st.integers(1, 130), st.sampled_from([255, 256, 257, 1000, 4095, 4096]))


@given(n_bits=N_BITS, n=st.integers(0, 20), seed=st.integers(0, 99))
def test_every_form_comes_back_from_every_other(n_bits: int, n: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8)
    packed = codes.bits_to_packed(bits)
    signs = codes.bits_to_signs(bits)
    words = codes.packed_to_words(packed, n_bits)
    assert packed.shape == (n, codes.n_bytes(n_bits))
    assert words.shape == (codes.n_words(n_bits), n)
    assert (codes.packed_to_bits(packed, n_bits) == bits).all()
    assert (codes.packed_to_signs(packed, n_bits) == signs).all()
    assert (codes.signs_to_packed(signs) == packed).all()
    assert (codes.signs_to_bits(signs) == bits).all()
    assert (codes.words_to_packed(words, n_bits) == packed).all()
    # padding never counts: exactly the code's own bits are set
    assert np.bitwise_count(words).sum() == bits.sum() == np.bitwise_count(packed).sum()


def test_bit_order_is_that_of_packbits() -> None:
    packed = codes.bits_to_packed([[1] + [0] * 8 + [1]])
    assert packed.tolist() == [[0b10000000, 0b01000000]]
    assert codes.packed_to_words(packed, 10).tolist() == [[0b0100000010000000]]


def test_words_are_aligned_and_write_into_views() -> None:
    words = codes.allocate_words(130, 1001)
    assert words.shape == (3, 1001)
    assert all(row.ctypes.data % 64 == 0 for row in words)
    packed = codes.bits_to_packed(np.ones((10, 130), int))
    codes.packed_to_words(packed, 130, out=words[:, 5:15])
    assert (codes.words_to_packed(words[:, 5:15], 130) == packed).all()
    assert not words[:, :5].any()
    assert not words[:, 15:].any()


@pytest.mark.parametrize(
    ("convert", "array", "expected", "given"),
    [
        (codes.bits_to_packed, [[1, -1]], "0/1 bits", "-1"),
        (codes.signs_to_packed, [[0, 1]], "±1 signs", "value 0"),
        (codes.bits_to_packed, [[0.5, 1]], "0/1 bits", "0.5"),
        (codes.bits_to_packed, [0, 1], "2-D", "(2,)"),
        (codes.bits_to_signs, [["a"]], "0/1 bits", "<U1"),
        (codes.signs_to_bits, [[float("nan")]], "±1 signs", "nan"),
        (lambda a: codes.packed_to_bits(a, 16), np.zeros((3, 16), np.uint8), "(n, 2)", "0/1 bits"),
        (lambda a: codes.packed_to_bits(a, 16), np.ones((3, 16), np.int8), "packed", "int8"),
        (lambda a: codes.packed_to_bits(a, 2), -np.ones((3, 2), np.int8), "packed", "signs_to_packed"),
        (lambda a: codes.packed_to_bits(a, 16), np.zeros((3, 2), np.int64), "uint8", "int64"),
        (lambda a: codes.packed_to_bits(a, 1), np.ones((3, 1), np.uint8), "packed", "padding"),
        (lambda a: codes.words_to_packed(a, 65), np.zeros((1, 9), np.uint64), "(2, n)", "(1, 9)"),
        (lambda a: codes.words_to_packed(a, 64), np.zeros((1, 9), np.int64), "uint64", "int64"),
        (lambda a: codes.words_to_packed(a, 64), np.zeros((1, 9), np.uint64)[:, ::2], "contiguous", "16"),
    ],
)
def test_another_form_is_refused_by_name(
    convert: Callable[[Any], Any], array: Any, expected: str, given: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        convert(array)
    assert expected in str(error.value)
    assert given in str(error.value)


@pytest.mark.parametrize("n_bits", [0, 4097, -1, 1.5, True, "8", None])
def test_impossible_numbers_of_bits_are_refused(n_bits: Any) -> None:
    with pytest.raises(InvalidParameterError, match="1 to 4096"):
        codes.check_n_bits(n_bits)
