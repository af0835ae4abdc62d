"""What the routes share, and how they come by it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Request

from onlinehash.server.bodies import Bodies
from onlinehash.server.forms import Form
from onlinehash.server.keys import Keys, Right
from onlinehash.server.library import NAME, Library
from onlinehash.server.limits import Limits
from onlinehash.server.metrics import Metrics
from onlinehash.server.served import Served

F = TypeVar("F", bound=Form)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one server."""

    library: Library
    keys: Keys
    limits: Limits
    bodies: Bodies
    metrics: Metrics

    def body(self, request: Request, kind: type[F]) -> AbstractAsyncContextManager[F]:
        """The form in a request's body."""
        return self.bodies.form(request, kind)


def parts_of(request: Request) -> Parts:
    """The parts of the server that a request has come to."""
    return cast(Parts, request.app.state.parts)


Name = Annotated[
    str, Path(pattern=NAME, description="letters, digits, _ and -, 64 at most", examples=["photos"])
]


def _may(right: Right) -> Any:
    async def check(request: Request) -> Parts:
        parts = parts_of(request)
        parts.keys.check(request, right)
        return parts

    return check


def _open(right: Right) -> Any:
    async def check(request: Request, name: Name) -> Served:
        parts = parts_of(request)
        parts.keys.check(request, right)
        return parts.library.get(name)

    return check


Reading = Annotated[Parts, Depends(_may("read"))]
Writing = Annotated[Parts, Depends(_may("write"))]
ReadIndex = Annotated[Served, Depends(_open("read"))]
WriteIndex = Annotated[Served, Depends(_open("write"))]
