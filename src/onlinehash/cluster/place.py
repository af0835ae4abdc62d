"""Where a dataset lies, and what makes a write to it durable.

On object storage a PUT that has returned is durable. On a local path Lance leaves that to the operating
system, so what it has written is brought to the disk here (``fsync``): the rows before the version
that names them, the version before the change is acknowledged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import lance

_SOURCE = re.compile(r",?\s*/\S+\.rs:\d+:\d+")


@dataclass(frozen=True, slots=True)
class Place:
    """A dataset's address, with the options of its storage (as Lance's ``storage_options``)."""

    uri: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, uri: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> Place:
        """A local path made absolute: shards run elsewhere."""
        text = os.fspath(uri).rstrip("/")
        return cls(text if "://" in text else str(Path(text).absolute()), dict(options or {}))

    @property
    def local(self) -> Path | None:
        """The path of a dataset on a file system."""
        return None if "://" in self.uri else Path(self.uri)

    def model(self, name: str) -> Place:
        """A model beside the dataset."""
        return Place(f"{self.uri}-models/{name}", self.options)

    def open(self, version: int | None = None) -> lance.LanceDataset:
        """The dataset, of the newest version or a certain one."""
        return lance.dataset(self.uri, version=version, storage_options=dict(self.options) or None)

    def exists(self) -> bool:
        """Whether there is a dataset."""
        try:
            self.open()
        except ValueError:
            return False
        return True


class Disk:
    """Brings files of a local dataset to the disk, each once. Elsewhere it has nothing to do."""

    def __init__(self, place: Place) -> None:
        self._folder = place.local
        self._seen: set[str] = set()

    def sync(self) -> None:
        """Everything that has been written since the last time, and the folders that name it."""
        if self._folder is None:
            return
        for folder, _, files in os.walk(self._folder):
            new = [path for name in files if (path := os.path.join(folder, name)) not in self._seen]
            for path in new:
                _fsync(path)
            if new:
                _fsync(folder)
                self._seen.update(new)
        if str(self._folder) not in self._seen:
            _fsync(str(self._folder.parent))
            self._seen.add(str(self._folder))


def plain(error: BaseException) -> str:
    """What Lance says, without the lines of its own source that it ends with."""
    return _SOURCE.sub("", str(error)).strip()


def _fsync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # cleaned up in the meantime
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
