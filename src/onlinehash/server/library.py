"""The indexes of one folder: NAME is served from NAME.oh, and nothing else is ever touched."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from onlinehash.errors import IndexLockedError, InvalidParameterError, OnlineHashError
from onlinehash.index.index import Index
from onlinehash.index.sqlite import writers_lock
from onlinehash.server.held_out import HeldOut
from onlinehash.server.limits import Limits
from onlinehash.server.problems import ProblemError
from onlinehash.server.served import Served

log = logging.getLogger(__name__)

NAME = r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,63}$"
_ENDS = ("", "-wal", "-shm", "-lock")


class Library:
    """Opens every index of a folder, and is the only one to change it."""

    def __init__(
        self, folder: Path, limits: Limits, others: Mapping[str, Callable[[], Index]] | None = None,
        held_out: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.folder, self._limits = folder, limits
        self._others = dict(others or {})  # indexes that lie elsewhere: by name, what opens them
        self._held_out = dict(held_out or {})  # by name, vectors and labels to measure by
        self._changing = threading.Lock()  # what indexes there are
        self._served: dict[str, Served] = {}
        self._broken: dict[str, str] = {}
        self.ready = False
        self.stopping = False
        self.failed: OnlineHashError | None = None  # why it could not be opened

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Open every index that can be opened; of the others the reason is kept."""
        try:
            self._open(loop)
        except OnlineHashError as error:
            self.failed = error
            raise

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(4 + (os.cpu_count() or 1), thread_name_prefix="reads")
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = writers_lock(self.folder / ".server")
        except IndexLockedError as error:
            raise IndexLockedError(f"{self.folder} is served by another process already") from error
        for path in sorted(self.folder.glob("*.oh")):
            if not re.match(NAME, path.stem):
                log.warning("%s is not served: a name has letters, digits, _ and - only", path.name)
                continue
            try:
                index = Index.open(path, refresh="manual")
            except OnlineHashError as error:
                log.error("%s", error)
                self._broken[path.stem] = str(error).replace(str(path), path.stem)
            else:
                self._serve(path.stem, index)
        for name, open_it in self._others.items():
            if not re.match(NAME, name) or name in self.names():
                raise InvalidParameterError(f"{name!r} cannot be an index's name here, or is taken")
            self._serve(name, open_it())
        for name in sorted(self._held_out.keys() - self._served.keys()):
            log.warning("there is no index %r yet for which rows are held out", name)
        self.ready = True

    def close(self) -> None:
        """Make what was taken on, and close every file."""
        self.ready, self.stopping = False, True
        with self._changing:
            for served in self._served.values():
                served.close()
            self._served.clear()
            self._pool.shutdown()
            self._lock.close()

    def let_listeners_go(self) -> None:
        """Of the loop: the streams of events end, so that connections can."""
        self.stopping = True
        for served in self._served.values():
            served.events.close()

    def names(self) -> list[str]:
        """Of all indexes, also of those that cannot be opened."""
        return sorted({*self._served, *self._broken})

    def all(self) -> list[Served]:
        """The indexes that are open."""
        return list(self._served.values())

    def get(self, name: str) -> Served:
        """One of them."""
        if self.stopping:
            raise ProblemError(503, "ServerError", "the server is stopping", {"Retry-After": "5"})
        served = self._served.get(name)
        if served is not None:
            return served
        if name in self._broken:
            raise ProblemError(503, "IndexFileError", self._broken[name])
        raise ProblemError(404, "IndexFileError", f"there is no index {name!r}")

    def create(self, name: str, make: Callable[[Path], Index], exist_ok: bool) -> tuple[Served, bool]:
        """A new index, and whether it is new."""
        with self._changing:
            self._refuse_when_stopping()
            if name in self._served and exist_ok:
                return self._served[name], False
            if name in self._served or name in self._broken:
                raise ProblemError(409, "InvalidParameterError", f"the index {name!r} is there already")
            if len(self.names()) >= self._limits.indexes:
                raise InvalidParameterError(
                    f"there are {len(self.names())} indexes, and may be no more on this server"
                )
            path = self.folder / f"{name}.oh"
            try:
                return self._serve(name, make(path)), True
            except BaseException:
                if name not in self._served:
                    _remove(path)
                raise

    def delete(self, name: str) -> None:
        """Take an index out of service, and its files away."""
        with self._changing:
            self.get(name)
            if name in self._others:
                raise ProblemError(409, "InvalidParameterError", f"{name!r} does not lie in this folder")
            served = self._served.pop(name)
            self._loop.call_soon_threadsafe(served.events.close)
            served.close()
            _remove(self.folder / f"{name}.oh")

    def _serve(self, name: str, index: Index) -> Served:
        measure = None
        if name in self._held_out:
            try:
                measure = HeldOut(*self._held_out[name], index.dim)
            except OnlineHashError as error:
                index.close()
                raise InvalidParameterError(f"held out for {name!r}: {error}") from error
        served = Served(name, index, self._pool, self._limits, self._loop, measure)
        self._served[name] = served
        return served

    def _refuse_when_stopping(self) -> None:
        if self.stopping:
            raise ProblemError(503, "ServerError", "the server is stopping", {"Retry-After": "5"})


def _remove(path: Path) -> None:
    for end in _ENDS:
        Path(f"{path}{end}").unlink(missing_ok=True)
