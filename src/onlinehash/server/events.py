"""What happens in an index, to whoever listens: server-sent events."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_core import to_json

from onlinehash.errors import BusyError

_KEPT = 200  # events that one who comes back may still get
_BEHIND = 500  # events that a slow listener may be behind before it loses some
_PULSE = 1.0  # seconds between two looks at how much is asked


class Events:
    """Events of one index, numbered. ``publish`` may be called in any thread, the rest in the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._loop, self._most = loop, most
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._number = 0
        self._listeners: set[asyncio.Queue[bytes]] = set()
        self._closed = asyncio.Event()

    @property
    def listeners(self) -> int:
        """How many there are."""
        return len(self._listeners)

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everybody."""
        with self._lock:
            self._number += 1
            number, text = self._number, _event(kind, data, self._number)
            self._kept.append((number, text))
            self._loop.call_soon_threadsafe(self._hand_out, text)

    def _hand_out(self, text: bytes) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)

    def listen(self, after: int | None, pulse: Callable[[], dict[str, Any]]) -> AsyncIterator[bytes]:
        """Events from now on, or after one that was seen, and every second a ``pulse``."""
        if len(self._listeners) >= self._most:
            raise BusyError(f"{self._most} listen already")
        queue: asyncio.Queue[bytes] = asyncio.Queue(_BEHIND)
        if after is not None:
            with self._lock:
                for number, text in self._kept:
                    if number > after:
                        queue.put_nowait(text)
        self._listeners.add(queue)
        return self._stream(queue, pulse)

    async def _stream(
        self, queue: asyncio.Queue[bytes], pulse: Callable[[], dict[str, Any]]
    ) -> AsyncIterator[bytes]:
        try:
            yield b"retry: 2000\n\n" + _event("pulse", pulse())
            due = self._loop.time() + _PULSE
            while not self._closed.is_set():
                try:
                    async with asyncio.timeout_at(due):
                        text = await queue.get()
                except TimeoutError:
                    due = self._loop.time() + _PULSE
                    text = _event("pulse", pulse())
                yield text  # not within the timeout, which would cancel whoever sends it
        finally:
            self._listeners.discard(queue)

    def close(self) -> None:
        """Let everybody go; within a second they have gone."""
        self._closed.set()


def _event(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    head = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (head, kind.encode(), to_json(data))
