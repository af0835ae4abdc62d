""".npy and .npz: mapped into memory, except for what is compressed. Nothing is ever unpickled."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from onlinehash.datasets.contents import Arrays, Entry
from onlinehash.datasets.source import Array, Held, Mapped, Source
from onlinehash.errors import DataFileError

_LOCAL_HEADER = 30  # bytes of a zip member's own header, before its name and extra field
_DAMAGED = (
    ValueError, EOFError, OSError, KeyError, SyntaxError, NotImplementedError, OverflowError, RuntimeError,
    struct.error, zlib.error, zipfile.BadZipFile, TokenError,
)  # fmt: skip


def npy(path: Path) -> Arrays:
    """The one array of a .npy file, named ``array``."""
    with _reading(path, ".npy"), path.open("rb") as file:
        return Arrays(path, [_entry(path, "array", file, mapped=True)])


def npz(path: Path) -> Arrays:
    """The arrays of a .npz file."""
    entries = []
    with _reading(path, ".npz"), zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if member.compress_type == zipfile.ZIP_STORED:
                file.seek(member.header_offset)
                lengths = struct.unpack("<HH", file.read(_LOCAL_HEADER)[-4:])
                file.seek(sum(lengths), 1)
                entries.append(_entry(path, name, file, mapped=True))
            else:
                with archive.open(member) as unpacked:
                    entries.append(_entry(path, name, unpacked, mapped=False))
    return Arrays(path, entries)


def _entry(path: Path, name: str, file: Any, *, mapped: bool) -> Entry:
    """The array whose header comes next in ``file``."""
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        return Entry(name, (), f"records in version {version} of .npy", None, None)
    shape, fortran, dtype = read_header(file)
    matrix: Callable[[], Source] | None = None
    if dtype.kind in "biuf" and len(shape) == 2:
        if mapped:
            matrix = partial(Mapped, path, dtype, shape, file.tell(), "F" if fortran else "C")
        else:
            matrix = partial(_held, path, name)
    labels = dtype.kind in "biufSU" and len(shape) in (1, 2)
    return Entry(name, shape, str(dtype), matrix, partial(_load, path, name) if labels else None)


def _held(path: Path, name: str) -> Source:
    return Held(_load(path, name))


def _load(path: Path, name: str) -> Array:
    with _reading(path, path.suffix):
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            with found:
                found = found[name]
    array: Array = np.char.decode(found, "utf-8") if found.dtype.kind == "S" else found
    return array


@contextmanager
def _reading(path: Path, form: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise DataFileError(f"{path}: truncated, damaged, or not a {form} file ({error})") from error
