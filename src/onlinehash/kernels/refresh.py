"""Refresh: base codes and a projection in, live codes out. g = sgn(Pᵀh), sgn(0) = +1.

Bits in, bits out. For every byte of a base code a table holds 256 rows: the sums of that byte's
eight signed rows of P. A live code is the sign of the sum of its bytes' rows. All additions are of
float32 in one stated order (the eight rows of a byte, then byte after byte), so a live code is the
same on every machine, in every batch, and from the NumPy twin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Packed, Words, allocate_words, check_words, n_bytes, n_words
from onlinehash.errors import InvalidInputError
from onlinehash.kernels import vectors
from onlinehash.kernels.threads import in_parts, n_cores
from onlinehash.memory import aligned_empty

Floats = npt.NDArray[np.float32]

_SUMS = vectors.SUMS
_BLOCK = 8192  # codes that go through the tables of one base word (256 KiB) before the next word's
_FEW = 256  # below this many codes a thread costs more than it brings


def refresh_codes(
    base: Words, tables: Floats, n_bits: int, out: Words | None = None, threads: int | None = None
) -> Words:
    """Live codes (word-major) of word-major base codes; ``tables`` come from ``lookup_tables``."""
    n = base.shape[1]
    base = check_words(base, 64 * tables.shape[1] // 8, "base codes")
    out = allocate_words(n_bits, n) if out is None else check_words(out, n_bits, "out")
    if out.shape[1] != n:
        raise InvalidInputError(f"out: expected room for {n} codes, got room for {out.shape[1]} codes")
    if tables.shape[0] != -(-n_bits // _SUMS):
        raise InvalidInputError(f"tables: made for {tables.shape[0]} half words, not for {n_bits} bits")
    addresses = (tables.ctypes.data, base.ctypes.data, base.strides[0], out.ctypes.data, out.strides[0])
    halves = -(-n_bits // _SUMS)

    def work(part: int, first: int, last: int) -> None:
        # allocated here: numba would let go of memory of which only the address is still in use
        sums = aligned_empty((min(_BLOCK, last - first), _SUMS), np.float32)
        _refresh(*addresses, sums.ctypes.data, base.shape[0], halves, out.shape[0], first, last)

    parts = min(threads or n_cores(), max(1, n // _FEW))
    in_parts(work, n, parts)
    return out


def lookup_tables(P: Floats) -> Floats:
    """Tables for ``refresh_codes``, of shape (halves of live words, bytes of a base code, 256, 32).

    Columns lie as the bits of a half word lie: a byte's first bit is its highest, so lane ``l``
    holds bit ``l ^ 7``. Lanes of padding sum up to -1, so that padding bits come out 0; rows of
    padding in the base code are 0.
    """
    base_bits, n_bits = P.shape
    halves, base_bytes = -(-n_bits // _SUMS), 8 * n_words(base_bits)
    rows = np.zeros((8 * base_bytes, _SUMS * halves), np.float32)
    rows[:base_bits, :n_bits] = P
    bit_of_lane = np.arange(_SUMS * halves) ^ 7
    rows = rows[:, bit_of_lane].reshape(base_bytes, 8, halves, _SUMS).transpose(2, 0, 1, 3)

    tables: Floats = aligned_empty((halves, base_bytes, 256, _SUMS), np.float32)
    _fill(np.ascontiguousarray(rows), tables)
    tables[-1, 0, :, bit_of_lane[-_SUMS:] >= n_bits] = -1
    return tables


@njit(nogil=True, cache=True)
def _fill(rows: Floats, tables: Floats) -> None:
    """All 256 signed sums of each byte's eight rows, by doubling, the highest bit's row first."""
    halves, base_bytes, _, lanes = rows.shape
    for half in range(halves):
        for byte in range(base_bytes):
            table = tables[half, byte]
            table[0] = 0
            for bit in range(8):
                step = 128 >> bit
                for value in range(0, 256, 2 * step):
                    for lane in range(lanes):
                        row = rows[half, byte, bit, lane]
                        table[value + step, lane] = table[value, lane] + row
                        table[value, lane] -= row


@njit(nogil=True, cache=True)
def _refresh(
    tables: int, base: int, base_stride: int, out: int, out_stride: int, sums: int,
    base_words: int, halves: int, out_words: int, first: int, last: int,
) -> None:  # fmt: skip
    word_table = 8 * 256 * 4 * _SUMS
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        for half in range(2 * out_words):
            target = out + (half // 2) * out_stride + (half % 2) * 4
            if half >= halves:
                for i in range(start, stop):
                    vectors.store_half(target + 8 * i, 0)
                continue
            for word in range(base_words):
                table = tables + (half * base_words + word) * word_table
                for i in range(start, stop):
                    code = vectors.load_word(base + word * base_stride + 8 * i)
                    vectors.add_rows(sums + (i - start) * 4 * _SUMS, table, code, word == 0)
            for i in range(start, stop):
                vectors.store_half(target + 8 * i, vectors.sign_bits(sums + (i - start) * 4 * _SUMS))


def refresh_numpy(base: Packed, P: Floats) -> Packed:
    """The plain twin, packed in and out: the same additions in the same order."""
    base_bits, n_bits = P.shape
    signs = np.unpackbits(base, axis=1).astype(np.float32)
    signs = 2 * signs - 1
    rows = np.zeros((8 * n_bytes(base_bits), n_bits), np.float32)
    rows[:base_bits] = P
    total = np.zeros((len(base), n_bits), np.float32)
    for byte in range(n_bytes(base_bits)):
        of_byte = np.zeros((len(base), n_bits), np.float32)
        for bit in range(8 * byte, 8 * byte + 8):
            of_byte += signs[:, bit, None] * rows[bit]
        total += of_byte
    return np.packbits(total >= 0, axis=1)
