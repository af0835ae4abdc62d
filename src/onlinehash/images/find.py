"""Which files of a folder are pictures, by their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from onlinehash.errors import DataFileError

HEIF = (".heic", ".heif")  # as telephones write; with pillow-heif, where that is installed
SUFFIXES = (
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".png",
    ".webp",
    ".gif",
    ".bmp",
    ".tif",
    ".tiff",
    ".avif",
    *HEIF,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file; ``id`` is its path relative to the folder, with "/"."""

    id: str
    path: Path
    size: int
    mtime: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was passed over, and why."""

    path: str
    reason: str


def find(folder: Path) -> tuple[list[Found], list[Skipped]]:
    """The pictures of a folder and the folders in it; names that begin with a dot are passed over.

    Their order is drawn, the same for the same names: the first thousand are what an index learns its
    base codes from, and are to be like all of them, not the first folder.
    """
    if not folder.is_dir():
        raise DataFileError(f"{folder}: there is no such folder")
    found: list[Found] = []
    skipped: list[Skipped] = []
    for path in _files(folder, skipped):
        name = path.relative_to(folder).as_posix()
        try:
            name.encode()
            status = path.stat()
        except (OSError, UnicodeEncodeError) as error:
            reason = "its name is not UTF-8" if isinstance(error, UnicodeEncodeError) else str(error.strerror)
            skipped.append(Skipped(os.fsencode(path).decode(errors="replace"), reason))
            continue
        found.append(Found(name, path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda one: (crc32(one.id.encode()), one.id)), skipped


def _files(folder: Path, skipped: list[Skipped]) -> Iterator[Path]:
    def closed(error: OSError) -> None:
        skipped.append(Skipped(os.fsencode(error.filename).decode(errors="replace"), str(error.strerror)))

    for place, folders, files in os.walk(folder, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            path = Path(place, name)
            if (
                not name.startswith(".")
                and path.suffix.lower() in SUFFIXES
                and (path.is_file() or path.is_symlink())
            ):
                yield path
