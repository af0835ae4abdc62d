"""The embedded store: one SQLite file. docs/file-format.md specifies every table and byte.

A state is pinned by a read transaction on a connection of its own (SQLite's log lets readers and one
writer be), and a change is one write transaction: SQLite's durability is ours. The writer holds a
lock for as long as it lives, on an empty file beside, by SQLite's own locks: they go with the
process, however it ends.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash.errors import (
    IndexClosedError,
    IndexFileError,
    IndexLockedError,
    InvalidParameterError,
    StorageError,
)
from onlinehash.index.inputs import to_json
from onlinehash.index.sqlite_view import SQLiteChange, SQLiteView, read_settings
from onlinehash.index.store import checksum

VERSION = 1
APPLICATION = int.from_bytes(b"OHIX", "big")
DURABILITY = {"full": "FULL", "normal": "NORMAL"}
_SYNCHRONOUS = {**DURABILITY, "off": "OFF"}  # nothing outlives an index in memory

_CHUNK_BYTES = 4000  # with what SQLite adds, a chunk's row fills one page of 4,096 bytes
_SCHEMA = """
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL,
                    generation INTEGER NOT NULL, settings TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE items (slot INTEGER PRIMARY KEY, id NOT NULL UNIQUE, payload TEXT, labels TEXT,
                    crc INTEGER NOT NULL);
CREATE TABLE chunks (number INTEGER PRIMARY KEY, changed INTEGER NOT NULL, taken BLOB NOT NULL,
                     codes BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX chunks_changed ON chunks (changed);
CREATE TABLE vectors (slot INTEGER PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE waiting (number INTEGER PRIMARY KEY, vectors BLOB NOT NULL, labels TEXT NOT NULL,
                      new INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE model (part TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE lessons (generation INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE labels (number INTEGER PRIMARY KEY, label NOT NULL UNIQUE, code BLOB NOT NULL,
                     crc INTEGER NOT NULL);
"""
_OF_THE_MACHINE = {
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
}  # fmt: skip
_NAMES = {"state", "items", "chunks", "vectors", "waiting", "model", "lessons", "labels"}


class SQLiteStore:
    """One file, any number of readers, one writer. See ``store.Store``."""

    def __init__(self, path: Path, read_only: bool, durability: str) -> None:
        self.name = str(path)
        self._path = path
        self._durability = durability
        self._pid = os.getpid()
        self._idle: deque[sqlite3.Connection] = deque()  # for reading, not in use
        self._users = 0
        self._closed = False
        self._changed = threading.Condition()
        self._lock = None if read_only else writers_lock(path)
        self._writer: sqlite3.Connection | None = None

    @classmethod
    def create(cls, path: Path, settings: dict[str, Any], code_bytes: int, durability: str) -> SQLiteStore:
        """A new file, which must not be there yet."""
        store = cls(path, False, durability)
        try:
            with _translated(store.name):
                store._begin(settings, code_bytes)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path, read_only: bool, durability: str) -> SQLiteStore:
        """A file that is there, if it is ours and whole as far as can be told without reading it."""
        if not path.is_file():
            what = "a folder, and no index's file" if path.is_dir() else "there is no such file"
            raise IndexFileError(f"{path}: {what}; Index.create makes one")
        store = cls(path, read_only, durability)
        try:
            with _translated(store.name), closing(store._connect()) as connection:
                _check_ours(connection, store.name)
                store._chunk_slots = read_settings(connection, store.name)["chunk_slots"]
            if not read_only:
                store._writer = store._connect(writes=True)
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self, settings: dict[str, Any], code_bytes: int) -> None:
        existed = self._path.exists()
        connection = self._writer = self._connect(writes=True, make=True)
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InvalidParameterError(f"{self.name} exists: open it with Index.open, or name another")
        self._chunk_slots = max(8, int(_CHUNK_BYTES / (code_bytes + 1 / 8)) // 8 * 8)
        text = to_json({**settings, "chunk_slots": self._chunk_slots})
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO state VALUES (1, 0, 0, ?, ?)", (text, checksum(text)))
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        if not existed:
            _sync_folder(self._path.parent)

    @contextmanager
    def read(self) -> Iterator[SQLiteView]:
        """Pin the newest state on a connection of the pool."""
        with self._in_use(), _translated(self.name):
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield SQLiteView(connection, self.name, self._chunk_slots)
                connection.execute("ROLLBACK")
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)

    @contextmanager
    def write(self) -> Iterator[SQLiteChange]:
        """One transaction; the caller sees to it that there is one at a time."""
        with self._in_use(), _translated(self.name):
            connection = self._writer
            assert connection is not None, "the index refuses changes where it was opened for reading"
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute("UPDATE state SET sequence = sequence + 1")
                yield SQLiteChange(connection, self.name, self._chunk_slots)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it already
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def backup(self, path: str) -> None:
        """By SQLite's backup, into a file beside, which is then renamed."""
        target = Path(path)
        if target.exists():
            raise InvalidParameterError(f"{target} exists: name a file that does not")
        beside = target.with_name(f".{target.name}.part")
        beside.unlink(missing_ok=True)
        try:
            with self.read() as view, closing(sqlite3.connect(beside)) as copy:
                view._connection.execute("SELECT 1 FROM state").fetchone()
                view._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(beside, target)
            _sync_folder(target.parent)
        except OSError as error:
            raise StorageError(f"{target}: cannot be written ({error})") from error
        finally:
            beside.unlink(missing_ok=True)

    def n_bytes(self) -> int:
        """Bytes of the file and of its log."""
        files = (self._path, Path(f"{self._path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def verify(self) -> list[str]:
        """SQLite's own check of its pages, every checksum, and that items and codes agree."""
        wrong: list[str] = []
        with self.read() as view:
            connection = view._connection
            found = connection.execute("PRAGMA integrity_check(100)").fetchall()
            wrong += [f"SQLite: {row[0]}" for row in found if row[0] != "ok"]
            steps: tuple[Callable[[], Any], ...] = (view.settings, view.model, view.vectors, view.rows)
            for step in steps:
                wrong += _complaint(step)
            wrong += _complaint(lambda: _agree(view, wrong))
        return list(dict.fromkeys(wrong))

    def close(self) -> None:
        """Wait for readers, then close every connection, the writer's last: it tidies the log up."""
        with self._changed:
            if self._pid != os.getpid():  # a forked child must not touch its parent's connections
                return
            self._closed = True
            self._changed.wait_for(lambda: self._users == 0)
            for connection in (*self._idle, self._writer, self._lock):
                if connection is not None:
                    connection.close()
            self._idle.clear()
            self._writer = self._lock = None

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """``close`` waits for the end of this; after it there is no beginning."""
        with self._changed:
            if self._pid != os.getpid():
                raise IndexClosedError(
                    f"{self.name}: the index was opened in process {self._pid}, before this one forked from "
                    "it; open it here again (for reading, if that process writes)"
                )
            if self._closed:
                raise IndexClosedError(f"{self.name}: the index is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _connect(self, writes: bool = False, make: bool = False) -> sqlite3.Connection:
        mode = "rwc" if make else "rw"
        if not writes and not os.access(self._path, os.W_OK):
            mode = "ro"
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None,
            timeout=60, check_same_thread=False,
        )  # fmt: skip
        try:
            if writes:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self._durability]}")
                connection.execute("PRAGMA cache_size = -65536")
                connection.execute("PRAGMA journal_size_limit = 67108864")
            else:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def writers_lock(path: Path) -> sqlite3.Connection:
    """Held for as long as this connection is open: a second writer finds it taken."""
    try:
        lock = sqlite3.connect(f"{path}-lock", isolation_level=None, timeout=0, check_same_thread=False)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except BaseException:
            lock.close()
            raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise IndexLockedError(
                f"{path} is open for writing already, here or in another process; "
                "open it with read_only=True, which may be done any number of times"
            ) from error
        raise StorageError(f"{path}-lock: cannot be opened ({error})") from error
    return lock


def _check_ours(connection: sqlite3.Connection, name: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise IndexFileError(f"{name}: an SQLite file, but not an index of onlinehash")
    if version > VERSION:
        raise IndexFileError(
            f"{name}: written in version {version} of the format; this onlinehash reads up to {VERSION}"
        )
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= _NAMES:
        raise IndexFileError(f"{name}: damaged, without its table {min(_NAMES - tables)}")


def _agree(view: SQLiteView, wrong: list[str]) -> None:
    """Every item has a code, or a vector before initialisation, and the other way round."""
    items = np.fromiter((slot for slot, _ in view.all_items()), np.int64)
    coded = [chunk.first + np.flatnonzero(chunk.taken) for chunk in view.chunks()]
    codes = np.concatenate([np.empty(0, np.int64), *coded])
    vectors, _ = view.vectors()
    initialized, keeps = view.model() is not None, view.settings()["keep_vectors"]
    pairs = [("base code", codes)] * initialized + [("vector", vectors)] * (keeps or not initialized)
    for what, slots in pairs:
        for alone, sentence in (
            (np.setdiff1d(items, slots), f"items have no {what}"),
            (np.setdiff1d(slots, items), f"slots have a {what}, but no item"),
        ):
            if len(alone):
                wrong.append(f"{len(alone)} {sentence}, the first in slot {alone[0]}")


def _complaint(step: Callable[[], Any]) -> list[str]:
    try:
        step()
    except (IndexFileError, sqlite3.DatabaseError, json.JSONDecodeError) as error:
        return [str(error)]
    return []


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """SQLite's errors as ours: those of the machine, and those of what lies in the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _OF_THE_MACHINE:
            raise StorageError(f"{name}: cannot be read or written ({error}); nothing was changed") from error
        raise IndexFileError(f"{name}: damaged, or not an SQLite file ({error})") from error


def _sync_folder(folder: Path) -> None:
    """Bring a new file's name to the disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
