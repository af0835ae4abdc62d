"""A hasher in one file: safetensors with its metadata. Nothing is ever unpickled.

    tensors    the learnt arrays, by name
    metadata   format    "onlinehash"
               version   of this layout, a number; a newer one is refused
               hasher    the class's name
               content   JSON: parameters, learnt values that are not arrays, the vocabulary
               checksum  BLAKE2b of the tensors' bytes and of content

A file is written beside its name, brought to the disk, and then renamed: a reader sees the old file
or the new one, whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from onlinehash.errors import ModelFileError

VERSION = 1
_FORMAT = "onlinehash"

Arrays = Mapping[str, npt.NDArray[Any]]


def to_bytes(hasher: str, arrays: Arrays, content: dict[str, Any]) -> bytes:
    """The bytes of a model file."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(content)
    metadata = {
        "format": _FORMAT,
        "version": str(VERSION),
        "hasher": hasher,
        "content": text,
        "checksum": _checksum(arrays, text),
    }
    data: bytes = save(dict(arrays), metadata)
    return data


def write(path: str | os.PathLike[str], hasher: str, arrays: Arrays, content: dict[str, Any]) -> None:
    """Write a model file, whole or not at all."""
    path = Path(path)
    data = to_bytes(hasher, arrays, content)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def read(path: str | os.PathLike[str], hasher: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Arrays and content of a model file of this hasher, or a ModelFileError that says why not."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path}: there is no such file")
    return from_bytes(path.read_bytes(), hasher, str(path))


def from_bytes(data: bytes, hasher: str, name: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """As ``read``, from bytes; ``name`` is what errors call them."""
    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")  # as safetensors begins: the length of its JSON header
        metadata = json.loads(data[8 : 8 + size]).get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(f"{name}: truncated, or not a safetensors file ({error})") from error
    if metadata.get("format") != _FORMAT:
        raise ModelFileError(f"{name}: a safetensors file, but not one of onlinehash")
    version = metadata.get("version", "")
    if not version.isdecimal() or int(version) > VERSION:
        raise ModelFileError(
            f"{name}: written in version {version!r} of the format; this onlinehash reads up to {VERSION}"
        )
    if metadata.get("hasher") != hasher:
        raise ModelFileError(f"{name}: holds a {metadata.get('hasher')}, expected a {hasher}")
    text = metadata.get("content", "")
    if metadata.get("checksum") != _checksum(arrays, text):
        raise ModelFileError(f"{name}: damaged, its checksum does not match")
    content: dict[str, Any] = json.loads(text)
    return arrays, content


def _checksum(arrays: Arrays, text: str) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}:{array.dtype}:{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
