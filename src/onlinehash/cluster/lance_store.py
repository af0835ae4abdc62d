"""The store of a cluster: one Lance dataset, and models beside it.

A change is one commit, whole or not there. It replaces the state's row; of two writers that start from
the same state one is refused, by Lance. Who opens for writing commits first, and so ends whoever wrote
before: no lock outlives a machine.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import lance
import pyarrow as pa
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments

from onlinehash.cluster.lance_change import LanceChange
from onlinehash.cluster.lance_view import STATE, LanceView, in_slots, schema, to_table
from onlinehash.cluster.models import kept, remove_unnamed, write_model
from onlinehash.cluster.place import Disk, Place, plain
from onlinehash.errors import (
    IndexClosedError,
    IndexFileError,
    IndexLockedError,
    InvalidParameterError,
    OnlineHashError,
    StorageError,
)
from onlinehash.index.inputs import to_json
from onlinehash.index.model import from_model

log = logging.getLogger(__name__)

VERSION = 1
_TIDY = 100  # changes after which small files are put together
_KEEP = timedelta(hours=1)  # how long older versions, and their models, can be read
_INDEXED = 10_000  # items from which on slots and ids are looked up by an index


class LanceStore:
    """One dataset, any number of readers, one writer. See ``store.Store``."""

    _view: LanceView  # the newest

    def __init__(self, place: Place, read_only: bool) -> None:
        self.name = place.uri
        self.place = place
        self._read_only = read_only
        self._disk = Disk(place)
        self._writer = secrets.token_hex(4)
        self._tidied = False  # since the last change
        self._users, self._closed = 0, False
        self._condition = threading.Condition()

    @classmethod
    def create(
        cls, uri: str | os.PathLike[str], settings: dict[str, Any], code_bytes: int,
        options: Mapping[str, str] | None, *, unfinished: bool = False,
    ) -> LanceStore:  # fmt: skip
        """A new dataset, which must not be there yet; an unfinished one is refused by ``open``."""
        store = cls(Place.of(uri, options), False)
        state = {
            "format": "onlinehash", "version": VERSION, "sequence": 0, "generation": 0, "items": 0, "top": 0,
            "width": None, "waiting": 0, "model": None, "base": None, "written": 0, "lessons": [0, 0, 0],
            "settings": {**settings, "code_bytes": code_bytes}, "writer": store._writer, "until": {},
            "untidy": 0,
        }  # fmt: skip
        if unfinished:
            state["unfinished"] = True
        if store.place.exists():
            raise InvalidParameterError(f"{store.name} exists: open it, or name another")
        with _translated(store.name):
            dataset = lance.write_dataset(
                to_table({STATE: ["state", to_json(state), None, None, None]}, code_bytes), store.name,
                storage_options=dict(store.place.options) or None,
            )  # fmt: skip
            store._disk.sync()
        store._view = LanceView(dataset, state, store.place)
        return store

    @classmethod
    def open(
        cls, uri: str | os.PathLike[str], read_only: bool, options: Mapping[str, str] | None = None
    ) -> LanceStore:
        """A dataset that is there. For writing: whoever wrote before can no longer."""
        store = cls(Place.of(uri, options), read_only)
        with _translated(store.name):
            store._view = store._newest()
        if not read_only:
            with store.write() as change:
                change.state["writer"] = store._writer
        return store

    @contextmanager
    def read(self) -> Iterator[LanceView]:
        """The newest version, which stays as it is while others write."""
        with self._in_use(), _translated(self.name, self._is_cut_off):
            if self._read_only and self._view.dataset.latest_version != self._view.dataset.version:
                self._view = self._newest()
            yield self._view

    @contextmanager
    def write(self) -> Iterator[LanceChange]:
        """One commit; the caller sees to it that there is one at a time."""
        with self._in_use(), _translated(self.name, self._is_cut_off):
            change = LanceChange(self._view.dataset, self._view.state, self.place)
            yield change
            change.state["untidy"] = 1 + (0 if self._tidied else change.state["untidy"])
            if self._tidied:
                change.state["until"] = kept(change.state)
            if change.new_model is not None:
                write_model(self.place, change.new_model, change.state, _KEEP.total_seconds())
            self._commit_or_adopt(change)
            self._tidied = False
            if change.state["untidy"] >= _TIDY:
                try:
                    self.tidy()
                except Exception:  # the change is there all the same
                    log.warning("%s: small files stay as they are", self.name, exc_info=True)

    def tidy(self) -> None:
        """Put small files together, bring the look-ups of slots and ids up to date, drop what is old.

        The writer's, between its changes.
        """
        newest = self._newest()
        if not self._ours(newest):  # another writes now, and our next change will be refused
            return
        dataset = newest.dataset
        dataset.optimize.compact_files()
        known = {column for index in dataset.describe_indices() for column in index.field_names}
        if known:
            dataset.optimize.optimize_indices()
        if self._view.state["items"] >= _INDEXED:
            for column in sorted({"slot", "id"} - known):
                dataset.create_scalar_index(column, "BTREE")
        dataset.cleanup_old_versions(older_than=_KEEP)
        remove_unnamed(self.place, newest.state)
        self._disk.sync()
        newest = self._newest()
        if self._ours(newest):
            self._view, self._tidied = newest, True

    def _ours(self, view: LanceView) -> bool:
        """Whether a version holds the last state that we have written."""
        mine = self._view
        return (view.sequence, view.state["writer"]) == (mine.sequence, mine.state["writer"])

    def _is_cut_off(self) -> bool:
        """Whether another has opened it for writing; then versions that are read here may be gone, too."""
        try:
            known = self._writer, self._view.state["writer"]  # the latter while this one is opening
            return not self._read_only and self._newest().state["writer"] not in known
        except (OSError, ValueError, IndexFileError):
            return False

    def backup(self, path: str) -> None:
        """Copy the newest version, and its model, to another place."""
        from onlinehash.cluster.moves import copied

        with self.read() as view:
            copied(view, Place.of(path))

    def n_bytes(self) -> int:
        """Bytes of the rows of the newest version."""
        fragments = self._view.dataset.get_fragments()
        return sum(file.file_size_bytes or 0 for part in fragments for file in part.data_files())

    def verify(self) -> list[str]:
        """Lance's own check, every row's checksum, that slots and ids come once, and the model."""
        with self.read() as view:
            try:
                view.dataset.validate()  # type: ignore[no-untyped-call]
                model = view.model()
                if model is not None:
                    from_model(model, view.lessons(), view.generation, self.name)
                return [f"{self.name}: damaged, {what}" for what in view.wrong()]
            except OnlineHashError as error:
                return [str(error)]
            except (OSError, ValueError) as error:
                return [f"{self.name}: damaged, it cannot be read ({plain(error)})"]

    def close(self) -> None:
        """Wait for readers and the writer."""
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: self._users == 0)

    # ---- how it works

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._condition:
            if self._closed:
                raise IndexClosedError(f"{self.name}: the index is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._condition:
                self._users -= 1
                self._condition.notify_all()

    def _newest(self) -> LanceView:
        try:
            dataset = self.place.open()
        except ValueError as error:
            if "was not found" in str(error):
                raise IndexFileError(f"{self.name}: there is no such dataset; create makes one") from error
            if self.place.local is not None and self.place.local.is_file():
                raise IndexFileError(f"{self.name}: a file, and no Lance dataset") from error
            raise IndexFileError(f"{self.name}: damaged, it cannot be opened ({plain(error)})") from error
        if "slot" not in dataset.schema.names:
            raise IndexFileError(f"{self.name}: a Lance dataset, but not an index of onlinehash")
        rows = dataset.to_table(columns=["payload"], filter=in_slots([STATE]))["payload"].to_pylist()
        state = json.loads(rows[0]) if len(rows) == 1 else {}
        if state.get("format") != "onlinehash":
            raise IndexFileError(f"{self.name}: a Lance dataset, but not an index of onlinehash")
        if "unfinished" in state:
            raise IndexFileError(
                f"{self.name}: a copy that has not come to its end; delete it and begin again"
            )
        if state["version"] > VERSION:
            raise IndexFileError(
                f"{self.name}: written in version {state['version']}; this onlinehash reads up to {VERSION}"
            )
        return LanceView(dataset, state, self.place)

    def _commit_or_adopt(self, change: LanceChange) -> None:
        """Commit; also where somebody has put files together meanwhile, or only the answer was lost."""
        try:
            self._commit(change)
        except CommitConflictError:
            newest = self._newest()
            if not self._ours(newest):
                raise
            change.dataset = newest.dataset
            self._commit(change)
        except OSError:
            if self.place.local is not None:  # it may be there, but not on the disk: see _translated
                raise
            newest = self._newest()
            if (newest.sequence, newest.state["writer"]) != (change.sequence, self._writer):
                raise
            self._view = newest

    def _commit(self, change: LanceChange) -> None:
        """Rows that go, rows that come and the new state, at once."""
        dataset, code_bytes = change.dataset, change.settings()["code_bytes"]
        removed, updated = _without(dataset, change.gone)
        rows = {STATE: ["state", to_json(change.state), None, None, None], **change.put_rows_of}
        new = write_fragments(
            to_table(rows, code_bytes), self.name, schema=schema(code_bytes), mode="append",
            storage_options=dict(self.place.options) or None,
        )  # fmt: skip
        self._disk.sync()
        operation = lance.LanceOperation.Update(
            removed_fragment_ids=removed, updated_fragments=updated, new_fragments=new
        )
        committed = lance.LanceDataset.commit(
            self.name, operation, read_version=dataset.version,
            storage_options=dict(self.place.options) or None,
        )  # fmt: skip
        self._disk.sync()
        self._view = LanceView(committed, change.state, self.place)


def _without(dataset: lance.LanceDataset, slots: set[int]) -> tuple[list[int], list[FragmentMetadata]]:
    """Fragments that go whole, and those that go on without some rows."""
    condition = in_slots(sorted(slots))
    found = dataset.to_table(columns=[], filter=condition, with_row_address=True)["_rowaddr"].to_numpy()
    removed, updated = [], []
    for number in sorted(set((found >> 32).tolist())):
        fragment = dataset.get_fragment(number)
        assert fragment is not None
        left = fragment.delete(condition)
        if left is None:
            removed.append(number)
        else:
            updated.append(left)
    return removed, updated


@contextmanager
def _translated(name: str, is_cut_off: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Lance's errors as ours; those of Arrow are of a file that is not there any more."""
    try:
        yield
    except (CommitConflictError, OSError, pa.ArrowInvalid, IndexFileError) as error:
        if is_cut_off():
            raise IndexLockedError(
                f"{name} has been opened for writing elsewhere since, and this index can no longer write; "
                "nothing was changed. Open it with read_only=True, or here again"
            ) from error
        if isinstance(error, OnlineHashError):
            raise
        if isinstance(error, CommitConflictError):
            raise StorageError(
                f"{name}: an earlier change failed, but may have been stored; open it again to see"
            ) from error
        raise StorageError(f"{name}: cannot be read or written ({plain(error)})") from error
