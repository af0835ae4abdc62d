"""Searches of one index. Those that come while others run go together, as one batch: no search waits
for company, and under load a scan over all codes answers many."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic_core import to_json

from onlinehash.errors import BusyError, InvalidInputError
from onlinehash.index.filters import parse
from onlinehash.index.index import Index
from onlinehash.index.inputs import check_vectors
from onlinehash.index.results import Hits
from onlinehash.server.forms import Search
from onlinehash.server.limits import Limits
from onlinehash.server.problems import ProblemError

_AT_ONCE = 2  # batches of one index under way: one scans while the other prepares and answers
_TOGETHER = 64  # queries that go together at most


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    form: Search
    X: npt.NDArray[np.float32] | None
    answer: asyncio.Future[bytes]


class Searches:
    """What is asked of one index. All methods but ``_answers`` are the event loop's."""

    def __init__(self, index: Index, pool: Executor, limits: Limits) -> None:
        self._index, self._pool, self._limits = index, pool, limits
        self._waiting: dict[Hashable, list[_Asked]] = {}
        self._running = 0
        self.waiting = 0
        self.queries = 0  # answered, since the start
        self.batches = 0

    async def answer(self, form: Search) -> bytes:
        """The hits as JSON."""
        if form.vectors is None and form.ids is None:
            raise InvalidInputError("search expects either vectors or ids")
        self._limits.check_k(max(form.k, form.rerank or 0), form.n_rows())
        if self.waiting >= self._limits.searches:
            raise BusyError(f"{self.waiting} searches wait already")
        X = None
        if form.vectors is not None and form.ids is None:
            X = check_vectors(form.vectors, self._index.dim)
        if form.where is not None:
            parse(form.where)  # what is wrong with one must not fail those that it goes with
        loop = asyncio.get_running_loop()
        asked = _Asked(form, X, loop.create_future())
        key: Hashable = asked
        if X is not None and len(X) == 1:
            key = (form.k, form.score, form.rerank, form.payloads, repr(form.where))
        self._waiting.setdefault(key, []).append(asked)
        self.waiting += 1
        self._start(loop)
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await asked.answer
        except TimeoutError:
            raise ProblemError(
                503, "ServerError", f"the search took longer than {self._limits.seconds:g} s",
                {"Retry-After": "1"},
            ) from None  # fmt: skip

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._running < _AT_ONCE:
            key = next(iter(self._waiting))
            asked = self._waiting.pop(key)
            if len(asked) > _TOGETHER:
                self._waiting[key] = asked[_TOGETHER:]  # last in line, as others wait too
                asked = asked[:_TOGETHER]
            self.waiting -= len(asked)
            self._running += 1
            self.batches += 1
            loop.run_in_executor(self._pool, self._answers, asked).add_done_callback(
                lambda done, asked=asked: self._done(loop, asked, done)  # type: ignore[misc]
            )

    def _done(
        self, loop: asyncio.AbstractEventLoop, asked: list[_Asked], done: asyncio.Future[list[bytes]]
    ) -> None:
        self._running -= 1
        error = done.exception()
        for i, one in enumerate(asked):
            if one.answer.done():  # nobody waits for it any more
                continue
            if error is not None:
                one.answer.set_exception(error)
            else:
                self.queries += max(1, one.form.n_rows())
                one.answer.set_result(done.result()[i])
        self._start(loop)

    def _answers(self, asked: list[_Asked]) -> list[bytes]:
        form = asked[0].form
        how: dict[str, Any] = {
            "k": form.k, "where": form.where, "score": form.score, "rerank": form.rerank,
            "payloads": form.payloads,
        }  # fmt: skip
        if asked[0].X is None:
            return [to_bytes(self._index.search(form.vectors, ids=form.ids, **how))]
        if len(asked) == 1:
            return [to_bytes(self._index.search(asked[0].X, **how))]
        hits = self._index.search(np.concatenate([one.X for one in asked if one.X is not None]), **how)
        return [to_bytes(hits, row, row + 1) for row in range(len(asked))]


def to_bytes(hits: Hits, first: int = 0, last: int | None = None) -> bytes:
    """Some rows as JSON."""
    rows = [
        [
            {"id": hit.id, "distance": hit.distance}
            if hits.payloads is None
            else {"id": hit.id, "distance": hit.distance, "payload": hit.payload}
            for hit in hits[row]
        ]
        for row in range(first, len(hits) if last is None else last)
    ]
    return to_json({"hits": rows, "generation": hits.generation, "score": hits.score})
