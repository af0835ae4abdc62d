"""Refresh: base codes and a projection in, live codes out. g = sgn(Pᵀh), sgn(0) = +1.

Bits in, bits out. For every byte of a base code a table holds 256 rows: the sums of that byte's
signed rows of P, for its eight bits and, where P has them, for its 28 pairs of bits (``inputs.py``).
A live code is the sign of the sum of its bytes' rows. All additions are of float32 in one stated
order (the rows of a byte, then byte after byte), so a live code is the same on every machine, in
every batch, and from the NumPy twin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Packed, Words, allocate_words, check_words, n_bytes, n_words
from onlinehash.errors import InvalidInputError
from onlinehash.kernels import vectors
from onlinehash.kernels.inputs import PAIRS, n_inputs, pairs_of_bits
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


def lookup_tables(P: Floats, base_bits: int | None = None) -> Floats:
    """Tables for ``refresh_codes``, of shape (halves of live words, bytes of a base code, 256, 32).

    P has a row for each of the ``base_bits`` (None: all its rows are such) and perhaps for each pair.
    Columns lie as the bits of a half word lie: a byte's first bit is its highest, so lane ``l`` holds
    bit ``l ^ 7``. Lanes of padding sum up to -1, so that padding bits come out 0; rows of padding in
    the base code are 0.
    """
    n_bits = P.shape[1]
    base_bits = len(P) if base_bits is None else base_bits
    halves, base_bytes = -(-n_bits // _SUMS), 8 * n_words(base_bits)
    bit_of_lane = np.arange(_SUMS * halves) ^ 7
    by_byte = np.zeros((base_bytes, 8 + len(PAIRS), _SUMS * halves), np.float32)
    by_byte[:, :, :n_bits] = _by_byte(P, base_bits, base_bytes)
    rows = by_byte[:, :, bit_of_lane].reshape(base_bytes, -1, halves, _SUMS).transpose(2, 0, 1, 3)

    tables: Floats = aligned_empty((halves, base_bytes, 256, _SUMS), np.float32)
    _fill(np.ascontiguousarray(rows), tables, PAIRS if len(P) > base_bits else PAIRS[:0])
    tables[-1, 0, :, bit_of_lane[-_SUMS:] >= n_bits] = -1
    return tables


def _by_byte(P: Floats, base_bits: int, base_bytes: int) -> Floats:
    """(base_bytes, 8 + 28, n_bits): the rows of P that belong to each byte, 0 for padding."""
    if len(P) not in (base_bits, n_inputs(base_bits, pairs=True)):
        raise InvalidInputError(
            f"P: expected {base_bits} rows, or {n_inputs(base_bits, pairs=True)} with those of pairs, "
            f"for {base_bits} base bits; got {len(P)}"
        )
    rows = np.zeros((base_bytes, 8 + len(PAIRS), P.shape[1]), np.float32)
    bits = np.arange(base_bits)
    rows[bits // 8, bits % 8] = P[:base_bits]
    if len(P) > base_bits:
        inside = np.zeros((8, 8), np.int64)
        inside[tuple(PAIRS.T)] = np.arange(8, 8 + len(PAIRS))
        one, other = pairs_of_bits(base_bits).T
        rows[one // 8, inside[one % 8, other % 8]] = P[base_bits:]
    return rows


@njit(nogil=True, cache=True)
def _fill(rows: Floats, tables: Floats, pairs: npt.NDArray[np.int64]) -> None:
    """All 256 signed sums of each byte's rows: those of its bits by doubling, the highest bit's row
    first, then those of its pairs.
    """
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
            for pair in range(len(pairs)):
                one, other = 7 - pairs[pair, 0], 7 - pairs[pair, 1]
                for value in range(256):
                    if (value >> one ^ value >> other) & 1:
                        for lane in range(lanes):
                            table[value, lane] += rows[half, byte, 8 + pair, lane]
                    else:
                        for lane in range(lanes):
                            table[value, lane] -= rows[half, byte, 8 + pair, lane]


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


def refresh_numpy(base: Packed, P: Floats, base_bits: int | None = None) -> Packed:
    """The plain twin, packed in and out: the same additions in the same order."""
    n_bits = P.shape[1]
    base_bits = len(P) if base_bits is None else base_bits
    rows = _by_byte(P, base_bits, n_bytes(base_bits))
    bits = np.unpackbits(base, axis=1).reshape(len(base), n_bytes(base_bits), 8)
    inputs = np.concatenate([bits, bits[:, :, PAIRS[:, 0]] ^ bits[:, :, PAIRS[:, 1]]], axis=2)
    signs = 2 * inputs.astype(np.float32) - 1
    total = np.zeros((len(base), n_bits), np.float32)
    for byte in range(n_bytes(base_bits)):
        of_byte = np.zeros((len(base), n_bits), np.float32)
        for i in range(8 if len(P) == base_bits else 8 + len(PAIRS)):
            of_byte += signs[:, byte, i, None] * rows[byte, i]
        total += of_byte
    return np.packbits(total >= 0, axis=1)
