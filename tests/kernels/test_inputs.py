import numpy as np
import pytest

from onlinehash.kernels.inputs import columns, input_bits, input_columns, input_signs, n_inputs


def test_a_pair_is_the_exclusive_or_of_two_bits_of_a_byte() -> None:
    H = np.array([[0b10110000, 0b01000000]], np.uint8)
    signs = input_signs(H, 10, True)[0]
    assert len(signs) == n_inputs(10, True) == 10 + 28 + 1
    assert signs[:10].tolist() == [1, -1, 1, 1, -1, -1, -1, -1, -1, 1]
    assert signs[10:13].tolist() == [1, -1, -1]  # bits 0 and 1 differ, 0 and 2 and 0 and 3 do not
    assert signs[-1] == 1  # the second byte's two bits
    assert input_signs(H, 10, False)[0].tolist() == signs[:10].tolist()


@pytest.mark.parametrize("base_bits", [1, 8, 13, 64])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("n", [1, 64, 100])
def test_columns_are_the_same_bits_by_rows_of_words(
    base_bits: int, pairs: bool, n: int, rng: np.random.Generator
) -> None:
    H = np.packbits(rng.integers(0, 2, (n, base_bits), np.uint8), axis=1)
    made = input_columns(H, base_bits, pairs)
    assert made.shape == (-(-n // 64), n_inputs(base_bits, pairs))
    assert (made == columns(input_bits(H, base_bits, pairs))).all()
    bits = np.unpackbits(np.ascontiguousarray(made.T).view(np.uint8), axis=1)
    assert (bits[:, :n] == input_bits(H, base_bits, pairs)).all()
    assert not bits[:, n:].any(), "padding is 0"
