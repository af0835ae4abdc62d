"""Inputs: what P is applied to. The bits of a base code, and the pairs of bits within each byte.

A refresh adds up one table row for each byte of a base code, so whatever is a sum over bytes costs
no more than a sum over bits. Beside its eight bits a byte therefore brings 28 more inputs, the
exclusive or of any two of them: +1 where the two differ, -1 where they are alike. So live codes are
not linear in the base code, and nothing more is stored.

Rows of P: first the bits, then byte after byte the pairs (0, 1), (0, 2), … (6, 7).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed, Words, n_words

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

PAIRS = np.array(list(combinations(range(8), 2)))  # (28, 2), within one byte


def pairs_of_bits(base_bits: int) -> Numbers:
    """(n_pairs, 2): the numbers of the two bits of each pair."""
    pairs = (PAIRS + 8 * np.arange(-(-base_bits // 8))[:, None, None]).reshape(-1, 2)
    return pairs[pairs[:, 1] < base_bits]


def n_inputs(base_bits: int, pairs: bool) -> int:
    """The rows of P."""
    return base_bits + (len(pairs_of_bits(base_bits)) if pairs else 0)


def input_bits(H: Packed, base_bits: int, pairs: bool) -> npt.NDArray[np.uint8]:
    """(n_inputs, n) of 0/1 from packed base codes (n, bytes)."""
    bits = np.ascontiguousarray(np.unpackbits(H, axis=1, count=base_bits).T)
    if not pairs:
        return bits
    one, other = pairs_of_bits(base_bits).T
    return np.concatenate([bits, bits[one] ^ bits[other]])


def input_signs(H: Packed, base_bits: int, pairs: bool) -> Floats:
    """(n, n_inputs) of ±1."""
    signs = input_bits(H, base_bits, pairs).T.astype(np.float32, order="C")
    signs *= 2
    signs -= 1
    return signs


def columns(bits: npt.NDArray[np.uint8]) -> Words:
    """Rows of 0/1 (m, n) as word-major memory (n_words, m): word w holds 64 of the n of every row."""
    m, n = bits.shape
    packed = np.zeros((m, 8 * n_words(n)), np.uint8)
    packed[:, : -(-n // 8)] = np.packbits(bits, axis=1)
    return np.ascontiguousarray(packed.view("<u8").T)


def input_columns(H: Packed, base_bits: int, pairs: bool) -> Words:
    """``columns`` of ``input_bits``, where a pair costs one exclusive or for 64 codes."""
    bits = columns(input_bits(H, base_bits, False))
    if not pairs:
        return bits
    one, other = pairs_of_bits(base_bits).T
    return np.concatenate([bits, bits[:, one] ^ bits[:, other]], axis=1)
