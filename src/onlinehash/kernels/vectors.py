"""What Python cannot say: loads of many lanes at once, population counts, sign bits.

Each function here is a numba intrinsic: a few instructions of LLVM's vector language, which every
CPU understands (LLVM splits the lanes into whatever registers there are). They read and write at
plain addresses, because numba would take a slice of a larger array for a strided one and gather.
The callers see to it that the addresses are those of living arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 32  # slots that one look of the scan takes: four registers of AVX-512
GROUP = 64  # slots that one word of hits stands for
FLOATS, TILE = 16, 4  # a tile of 4 × 4 sums of 16 floats fills half of AVX-512's registers
SUMS = 32  # live bits that are summed at once in a refresh: two registers of AVX-512
# rows and columns of a panel, whose sums fill half of the registers that there are
PANEL = (8, 32) if get_host_cpu_features().get("avx512f") else (4, 16)

_AHEAD = 2048  # bytes: seen to bring a third for single queries over several words, and to cost none

_U8, _U32, _U64, _F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()


def _int(value: int) -> ir.Constant:
    return ir.Constant(_U64, value)


def _vector(element: ir.Type, lanes: int, value: float = 0) -> ir.Constant:
    return ir.Constant(ir.VectorType(element, lanes), [ir.Constant(element, value)] * lanes)


def _load(builder: Any, address: Any, kind: ir.Type, align: int) -> Any:
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()))
    loaded.align = align
    return loaded


def _store(builder: Any, value: Any, address: Any, align: int) -> None:
    builder.store(value, builder.inttoptr(address, value.type.as_pointer())).align = align


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    empty = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_U32, 0))
    return builder.shuffle_vector(first, empty, _vector(_U32, lanes))


def _call(builder: Any, name: str, result: ir.Type, *args: Any) -> Any:
    function = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), args)


def _prefetch(builder: Any, address: Any, stride: Any, width: int, size: int) -> None:
    """Ask for the cache lines that the looks to come will need; a line past the end does no harm."""
    pointer, flag = _U8.as_pointer(), ir.Constant
    kind = ir.FunctionType(ir.VoidType(), [pointer, _U32, _U32, _U32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    for _ in range(width):
        for line in range(0, size, 64):
            ahead = builder.inttoptr(builder.add(address, _int(_AHEAD + line)), pointer)
            builder.call(function, [ahead, flag(_U32, 0), flag(_U32, 3), flag(_U32, 1)])
        address = builder.add(address, stride)


def _distances(builder: Any, address: Any, stride: Any, query: Any, width: int, lanes: int) -> Any:
    """Hamming distances of ``lanes`` neighbouring slots to one query, as a vector value."""
    kind = ir.VectorType(_U64, lanes)
    total = None
    for word in range(width):
        lane = _splat(builder, _load(builder, builder.add(query, _int(8 * word)), _U64, 8), lanes)
        differing = builder.xor(_load(builder, address, kind, 8), lane)
        count = _call(builder, f"llvm.ctpop.v{lanes}i64", kind, differing)
        total = count if total is None else builder.add(total, count)
        address = builder.add(address, stride)
    return total


@intrinsic
def min_distance(typing: Any, address: Any, stride: Any, query: Any, looks: Any, width: Any) -> Any:
    """The smallest distance among ``looks * LANES`` slots. ``width`` is a tuple of n_words items."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, stride, query, looks, _ = args
        kind = ir.VectorType(_U64, LANES)
        best = cgutils.alloca_once_value(builder, _vector(_U64, LANES, 1 << 20))
        with cgutils.for_range(builder, looks) as loop:
            here = builder.add(address, builder.mul(loop.index, _int(8 * LANES)))
            _prefetch(builder, here, stride, width.count, 8 * LANES)
            found = _distances(builder, here, stride, query, width.count, LANES)
            name = f"llvm.umin.v{LANES}i64"
            builder.store(_call(builder, name, kind, builder.load(best), found), best)
        return _call(builder, f"llvm.vector.reduce.umin.v{LANES}i64", _U64, builder.load(best))

    return types.uint64(address, stride, query, looks, width), code


@intrinsic
def below(typing: Any, address: Any, stride: Any, query: Any, limit: Any, width: Any) -> Any:
    """A word whose bit i says that slot i of the next GROUP slots is nearer than ``limit``."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, stride, query, limit, _ = args
        found = _distances(builder, address, stride, query, width.count, GROUP)
        hits = builder.icmp_unsigned("<", found, _splat(builder, limit, GROUP))
        return builder.bitcast(hits, _U64)

    return types.uint64(address, stride, query, types.uint64, width), code


@intrinsic
def popcount(typing: Any, word: Any) -> Any:
    """Set bits of one word."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest set bit of a word that is not 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@intrinsic
def power_of_two(typing: Any, exponent: Any) -> Any:
    """2**exponent as a float32, for an int32 exponent from -126 to 127, put together from its bits."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        biased = builder.add(args[0], ir.Constant(_U32, 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(_U32, 23)), _F32)

    return types.float32(types.int32), code


@intrinsic
def load_word(typing: Any, address: Any) -> Any:
    """The uint64 at an address."""
    return types.uint64(types.uintp), lambda context, builder, signature, args: _load(
        builder, args[0], _U64, 8
    )


@intrinsic
def store_half(typing: Any, address: Any, value: Any) -> Any:
    """Write the low 32 bits of ``value`` at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(builder, builder.trunc(args[1], _U32), args[0], 4)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uint64), code


@intrinsic
def add_rows(typing: Any, sums: Any, table: Any, word: Any, fresh: Any) -> Any:
    """Add to the SUMS floats at ``sums`` the table row of each of a word's eight bytes, in order.

    The table holds 256 rows for each byte. ``fresh`` starts from 0 instead of from what is there.
    """
    kind = ir.VectorType(_F32, SUMS)
    row, byte_table = 4 * SUMS, 256 * 4 * SUMS

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, table, word, fresh = args
        total = builder.select(fresh, _vector(_F32, SUMS), _load(builder, sums, kind, 64))
        for byte in range(8):
            value = builder.and_(builder.lshr(word, _int(8 * byte)), _int(255))
            offset = builder.add(builder.mul(value, _int(row)), _int(byte * byte_table))
            total = builder.fadd(total, _load(builder, builder.add(table, offset), kind, 64))
        _store(builder, total, sums, 64)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.uint64, types.boolean), code


@intrinsic
def sign_bits(typing: Any, sums: Any) -> Any:
    """A word whose bit i says that float i of the SUMS floats at ``sums`` is 0 or more."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = _load(builder, args[0], ir.VectorType(_F32, SUMS), 64)
        signs = builder.fcmp_ordered(">=", values, _vector(_F32, SUMS))
        return builder.zext(builder.bitcast(signs, ir.IntType(SUMS)), _U64)

    return types.uint64(types.uintp), code


@intrinsic
def add_products(typing: Any, left: Any, right: Any, row: Any, steps: Any, sums: Any, step: Any) -> Any:
    """Add the inner products of TILE rows with TILE rows, over ``steps * FLOATS`` floats, to a tile.

    ``left`` and ``right`` are the addresses of the first rows, ``row`` is the bytes from one row to
    the next; ``sums`` is the tile's address, ``step`` the bytes from one of its rows to the next.
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right, row, steps, sums, step = args
        kind = ir.VectorType(_F32, FLOATS)
        tile = [(i, j) for i in range(TILE) for j in range(TILE)]
        totals = {ij: cgutils.alloca_once_value(builder, _vector(_F32, FLOATS)) for ij in tile}
        with cgutils.for_range(builder, steps) as loop:
            at = builder.mul(loop.index, _int(4 * FLOATS))
            rows = [builder.mul(row, _int(i)) for i in range(TILE)]
            lefts = [_load(builder, builder.add(builder.add(left, at), r), kind, 4) for r in rows]
            rights = [_load(builder, builder.add(builder.add(right, at), r), kind, 4) for r in rows]
            for i, j in tile:
                name = f"llvm.fma.v{FLOATS}f32"
                total = _call(builder, name, kind, lefts[i], rights[j], builder.load(totals[i, j]))
                builder.store(total, totals[i, j])
        for i, j in tile:
            address = builder.add(sums, builder.add(builder.mul(step, _int(i)), _int(4 * j)))
            name = f"llvm.vector.reduce.fadd.v{FLOATS}f32"
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_F32, [_F32, kind]), name
            )
            start, values = _load(builder, address, _F32, 4), builder.load(totals[i, j])
            _store(builder, builder.call(function, [start, values], fastmath=("reassoc",)), address, 4)
        return context.get_dummy_value()

    address, size = types.uintp, types.intp
    return types.void(address, address, size, size, address, size), code


@intrinsic
def add_panel(
    typing: Any, left: Any, along: Any, down: Any, right: Any, row: Any, steps: Any, sums: Any, step: Any
) -> Any:
    """Add a product of matrices, of a panel's rows and columns, to floats in memory.

        sums[t, :] += Σ_i left[t, i] right[i, :]    for i < steps

    ``left[t, i]`` lies at ``left + t * down + i * along``, row i of ``right`` at ``right + i * row``, row
    t of ``sums`` at ``sums + t * step``; all in bytes. Sums are taken in the order of i.
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, along, down, right, row, steps, sums, step = args
        kind, tall, wide = ir.VectorType(_F32, FLOATS), PANEL[0], range(PANEL[1] // FLOATS)
        panel = [(t, part) for t in range(tall) for part in wide]

        def place(t: int, part: int) -> Any:
            return builder.add(sums, builder.add(builder.mul(step, _int(t)), _int(4 * FLOATS * part)))

        totals = {at: cgutils.alloca_once_value(builder, _load(builder, place(*at), kind, 4)) for at in panel}
        downs = [builder.mul(down, _int(t)) for t in range(tall)]
        with cgutils.for_range(builder, steps) as loop:
            here = builder.add(right, builder.mul(loop.index, row))
            rights = [_load(builder, builder.add(here, _int(4 * FLOATS * part)), kind, 4) for part in wide]
            first = builder.add(left, builder.mul(loop.index, along))
            for t in range(tall):
                value = _splat(builder, _load(builder, builder.add(first, downs[t]), _F32, 4), FLOATS)
                for part in wide:
                    name, total = f"llvm.fma.v{FLOATS}f32", totals[t, part]
                    builder.store(_call(builder, name, kind, value, rights[part], builder.load(total)), total)
        for at in panel:
            _store(builder, builder.load(totals[at]), place(*at), 4)
        return context.get_dummy_value()

    address, size = types.uintp, types.intp
    return types.void(address, size, size, address, size, size, address, size), code
