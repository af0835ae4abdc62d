"""The demo's stream of labels, and its control. Only ``onlinehash demo`` mounts it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, FastAPI
from pydantic import Field
from starlette.responses import Response

from onlinehash.index.index import Index
from onlinehash.server.answers import ok
from onlinehash.server.app import make_app
from onlinehash.server.digits import Digits, measure
from onlinehash.server.forms import Form
from onlinehash.server.library import Library
from onlinehash.server.served import Served
from onlinehash.server.state import Reading, Writing

NAME, PATH = "digits", "/demo"
_CHUNK = 25  # pictures whose labels come together


class Order(Form):
    """What the stream is to do, and how many chunks a second; 0 is as fast as it can."""

    do: Literal["play", "pause", "step", "restart"] | None = None
    pace: float | None = Field(default=None, ge=0, le=100)


class Stream:
    """Tells an index the labels of the digits, as a user would who tags them. All of it in the loop."""

    def __init__(self, library: Library, digits: Digits) -> None:
        self._library, self._digits = library, digits
        self._stepping = asyncio.Lock()
        self._told = asyncio.Event()  # something to do
        self._task: asyncio.Task[None] | None = None
        self._run_number = 0
        self._begin()

    def _begin(self) -> None:
        self._run_number += 1
        self.labelled, self.playing, self.pace, self._looked_at = 0, False, 4.0, False
        self._history: list[dict[str, Any]] = []

    @property
    def served(self) -> Served:
        """The index of the digits."""
        return self._library.get(NAME)

    async def open(self) -> None:
        """Make the index, if it is not there."""
        if NAME not in self._library.names():
            served, _ = await asyncio.to_thread(self._library.create, NAME, self._digits.index, False)
            served.measure = self._measure
            await served.read(self._measure)

    async def state(self) -> dict[str, Any]:
        """For the page. Whoever looks first sets it going."""
        if not self._looked_at:
            self._looked_at = True
            await self.order(Order(do="play"))
        return self._state() | {"history": list(self._history)}

    async def order(self, order: Order) -> dict[str, Any]:
        """Do as is said."""
        self._looked_at = True
        if order.pace is not None:
            self.pace = order.pace
        if order.do == "restart":
            await self._restart()
        elif order.do == "step":
            self.playing = False
            await self._step()
        elif order.do is not None:
            self.playing = order.do == "play"
        self._told.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        state = self._state()
        self.served.events.publish("stream", state)
        return state

    async def close(self) -> None:
        """End the stream where it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            if not self.playing:
                self._told.clear()
                await self._told.wait()
                continue
            await self._step()
            self._told.clear()
            if self.pace:
                with suppress(TimeoutError):  # whoever pauses it or changes the pace need not wait
                    async with asyncio.timeout(1 / self.pace):
                        await self._told.wait()

    async def _step(self) -> None:
        async with self._stepping:
            start, stop = self.labelled, min(self.labelled + _CHUNK, self._digits.told)
            if start < stop:
                ids, labels = self._digits.ids[start:stop], self._digits.labels(start, stop)
                await self.served.learn(lambda index: index.tag(ids, labels), True)
                self.labelled = stop
            self.playing &= stop < self._digits.told
            self.served.events.publish("stream", self._state())

    async def _restart(self) -> None:
        async with self._stepping:
            await asyncio.to_thread(self._library.delete, NAME)
            self._begin()
            await self.open()

    def _state(self) -> dict[str, Any]:
        return {
            "run": self._run_number, "labelled": self.labelled, "total": self._digits.told,
            "playing": self.playing, "pace": self.pace,
        }  # fmt: skip

    def _measure(self, index: Index) -> dict[str, Any]:
        found, stats = measure(index, self._digits), index.stats()
        self._history.append(found | {"mistakes": stats.mistakes_P, "flipped": stats.flipped})
        return {"map": found["map"]}


def make_demo(folder: Path) -> FastAPI:
    """A server of the digits, with the stream and its control."""
    app = make_app(folder)
    stream = Stream(app.state.parts.library, Digits.load())
    serving = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with serving(app):
            await stream.open()
            yield
            await stream.close()

    app.router.lifespan_context = lifespan
    app.router.routes[:0] = _routes(stream).routes  # before the page, which answers to everything else
    return app


def _routes(stream: Stream) -> APIRouter:
    """What the page asks for. Not in the description of the API, for it is none of it."""
    router = APIRouter(include_in_schema=False)

    @router.get("/settings.json")
    async def settings() -> Response:
        return ok({"stream": PATH})

    @router.get(PATH)
    async def state(parts: Reading) -> Response:
        return ok(await stream.state())

    @router.post(PATH)
    async def order(order: Order, parts: Writing) -> Response:
        return ok(await stream.order(order))

    return router
