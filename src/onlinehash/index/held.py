"""What an index asks of the memory that holds its codes. ``buffers.py`` holds them in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from onlinehash.codes import Packed
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.snapshot import Generation, Slots, Snapshot
from onlinehash.index.store import View


class Memory(Protocol):
    """All its methods are the writer's, one at a time, but for the work of a refresh."""

    @property
    def snapshot(self) -> Snapshot:
        """The one published."""

    @property
    def hasher(self) -> OHWEU:
        """Of the generation served."""

    @property
    def n_bytes(self) -> int:
        """Bytes in use."""

    def vacant(self, n: int) -> Slots:
        """Slots for ``n`` items, in which no snapshot that is alive sees one."""

    def write(self, slots: Slots, codes: Packed) -> None:
        """Base and live codes of vacant slots."""

    def ready(self, sequence: int, opened: Slots, closed: Slots) -> Any:
        """Make ready the snapshot in which some slots have been opened and others closed."""

    def accept(self, ready: Any) -> None:
        """The store has committed it: publish."""

    def begin_refresh(self) -> Callable[[Generation], int]:
        """The work of bringing codes to a generation; it gives back how many bits it has changed."""

    def end_refresh(self, generation: Generation) -> None:
        """Publish what that work has done, with what was written in the meantime."""

    def cancel_refresh(self) -> None:
        """It has failed; all is as it was."""

    def follow(self, view: View, generation: Generation) -> None:
        """Come to the state of a view."""
