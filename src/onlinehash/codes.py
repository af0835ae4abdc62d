"""The forms of a binary code, and the converters between them.

    signs    (n, n_bits)            int8    +1 / -1                      for the maths
    bits     (n, n_bits)            uint8   1 / 0                        for scikit-learn and the eye
    packed   (n, ceil(n_bits / 8))  uint8   8 bits a byte                what is passed and stored
    words    (ceil(n_bits / 64), n) uint64  word-major                   what the kernels walk over

Bit 0 is the highest bit of byte 0 (``np.packbits``, big-endian). Bits past ``n_bits`` in the last
byte or word are padding: they are 0 in every valid code, so they never count in a distance.
A word is eight packed bytes read as a little-endian integer, hence packed rows of a multiple of
eight bytes and words differ by a transposition only. "Word-major" means that word ``w`` of all
codes lies in one contiguous row: a scan streams through memory, and a code of 64 bits costs 8 bytes.

Each converter is named for both its ends and checks the end it is given: an array in another form
is refused, and the error says which form was expected.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.memory import CACHE_LINE, aligned_empty

Signs: TypeAlias = npt.NDArray[np.int8]
Bits: TypeAlias = npt.NDArray[np.uint8]
Packed: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]

MAX_BITS = 4096
_WORD = np.dtype("<u8")


def check_n_bits(n_bits: int, name: str = "n_bits") -> int:
    """Return ``n_bits`` as an int between 1 and 4096, or refuse it."""
    if isinstance(n_bits, bool) or not isinstance(n_bits, (int, np.integer)):
        raise InvalidParameterError(f"{name} must be an int from 1 to {MAX_BITS}, got {n_bits!r}")
    if not 1 <= n_bits <= MAX_BITS:
        raise InvalidParameterError(f"{name} must be from 1 to {MAX_BITS}, got {n_bits}")
    return int(n_bits)


def n_bytes(n_bits: int) -> int:
    """Bytes of one packed code."""
    return (n_bits + 7) // 8


def n_words(n_bits: int) -> int:
    """64-bit words of one code."""
    return (n_bits + 63) // 64


def check_packed(codes: Any, n_bits: int, name: str = "codes") -> Packed:
    """Return ``codes`` as packed codes of ``n_bits`` bits, or refuse them."""
    check_n_bits(n_bits)
    array = np.asarray(codes)
    expected = (
        f"{name}: expected packed codes, a uint8 array of shape (n, {n_bytes(n_bits)}) for {n_bits} bits"
    )
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != n_bytes(n_bits):
        raise InvalidInputError(f"{expected}; got {_describe(array)}{_hint(array, n_bits)}")
    if n_bits % 8 and array.size and (array[:, -1] & (0xFF >> (n_bits % 8))).any():
        raise InvalidInputError(
            f"{expected}; got bits set in the padding, the lowest {-n_bits % 8} of the last byte"
            f"{_hint(array, n_bits)}"
        )
    return array


def check_words(words: Any, n_bits: int, name: str = "words") -> Words:
    """Return ``words`` as word-major codes that the kernels can walk over, or refuse them.

    Padding is not looked at (that would read every code): converters leave it 0.
    """
    array = np.asarray(words)
    if array.dtype != _WORD or array.ndim != 2 or array.shape[0] != n_words(n_bits):
        raise InvalidInputError(
            f"{name}: expected word-major codes, a uint64 array of shape ({n_words(n_bits)}, n) "
            f"for {n_bits} bits; got {_describe(array)}"
        )
    if array.shape[1] > 1 and array.strides[1] != 8:
        raise InvalidInputError(
            f"{name}: expected each word's row to be contiguous (stride 8 bytes), got {array.strides}"
        )
    return array


def bits_to_packed(bits: npt.ArrayLike) -> Packed:
    """0/1 → packed.

    >>> bits_to_packed([[1, 0, 0, 0, 0, 0, 0, 1, 1]]).tolist()
    [[129, 128]]
    """
    return np.packbits(_of_values(bits, (0, 1), "0/1 bits"), axis=1)


def packed_to_bits(packed: Packed, n_bits: int) -> Bits:
    """Packed → 0/1."""
    return np.unpackbits(check_packed(packed, n_bits), axis=1, count=n_bits)


def signs_to_packed(signs: npt.ArrayLike) -> Packed:
    """±1 → packed."""
    return np.packbits(_of_values(signs, (-1, 1), "±1 signs") > 0, axis=1)


def packed_to_signs(packed: Packed, n_bits: int) -> Signs:
    """Packed → ±1."""
    return bits_to_signs(packed_to_bits(packed, n_bits))


def bits_to_signs(bits: npt.ArrayLike) -> Signs:
    """0/1 → ±1."""
    signs = _of_values(bits, (0, 1), "0/1 bits").astype(np.int8)
    signs *= 2
    signs -= 1
    return signs


def signs_to_bits(signs: npt.ArrayLike) -> Bits:
    """±1 → 0/1."""
    return (_of_values(signs, (-1, 1), "±1 signs") > 0).view(np.uint8)


def packed_to_words(packed: Packed, n_bits: int, out: Words | None = None) -> Words:
    """Packed → words, into ``out`` (of shape (n_words, n), perhaps a view) where it is given."""
    packed = check_packed(packed, n_bits)
    if out is None:
        out = allocate_words(n_bits, len(packed))
    padded = packed
    if packed.shape[1] % 8 or not packed.flags.c_contiguous:
        padded = np.zeros((len(packed), 8 * n_words(n_bits)), np.uint8)
        padded[:, : packed.shape[1]] = packed
    out[...] = padded.view(_WORD).T
    return out


def words_to_packed(words: Words, n_bits: int) -> Packed:
    """Words → packed."""
    words = check_words(words, n_bits)
    packed = np.ascontiguousarray(words.T).view(np.uint8)
    return np.ascontiguousarray(packed[:, : n_bytes(n_bits)])


def allocate_words(n_bits: int, n: int) -> Words:
    """Zeroed word-major memory for ``n`` codes, every word's row aligned to a cache line."""
    row = -(-n * 8 // CACHE_LINE) * CACHE_LINE
    words: Words = aligned_empty((n_words(n_bits), row // 8), _WORD)
    words[...] = 0
    return words[:, :n]


def _of_values(array: npt.ArrayLike, values: tuple[int, int], form: str) -> npt.NDArray[Any]:
    given = np.asarray(array)
    expected = (
        f"expected {form}, a 2-D array of shape (n, n_bits) with the values {values[0]} and {values[1]}"
    )
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise InvalidInputError(f"{expected}; got {_describe(given)}")
    check_n_bits(given.shape[1], "the number of columns (bits)")
    if given.dtype != bool or values != (0, 1):
        other = (given != values[0]) & (given != values[1])
        if other.any():
            raise InvalidInputError(f"{expected}; got the value {given[other][0]} among {_describe(given)}")
    return given


def _hint(array: npt.NDArray[Any], n_bits: int) -> str:
    if array.ndim == 2 and array.shape[1] == n_bits and array.size and array.dtype.kind in "biuf":
        if np.isin(array, (0, 1)).all():
            return "; this looks like 0/1 bits: use bits_to_packed"
        if np.isin(array, (-1, 1)).all():
            return "; this looks like ±1 signs: use signs_to_packed"
    return ""


def _describe(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
