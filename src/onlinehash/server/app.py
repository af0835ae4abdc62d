"""The app: the parts of a server put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from onlinehash.index.index import Index
from onlinehash.server import openapi, problems
from onlinehash.server.bodies import Bodies
from onlinehash.server.guard import LOOPBACK, Guard
from onlinehash.server.keys import Keys
from onlinehash.server.library import Library
from onlinehash.server.limits import Limits
from onlinehash.server.metrics import Metrics
from onlinehash.server.routes import events, indexes, items, learning, search, service
from onlinehash.server.state import Parts

PAGE = Path(__file__).parent / "page"  # static files, served at /


def make_app(
    folder: Path, *, keys: Keys | None = None, limits: Limits | None = None, media: Path | None = None,
    host_names: Iterable[str] = (), origins: Collection[str] = (),
    others: Mapping[str, Callable[[], Index]] | None = None,
    held_out: Mapping[str, tuple[Any, Any]] | None = None,
) -> FastAPI:  # fmt: skip
    """Serve the indexes of a folder.

    ``media`` is a folder of pictures that items name, served at /media to whoever may read. Without
    keys only the names of this machine, and ``host_names``, are answered to. ``origins`` are those whose
    pages may use the server from elsewhere (CORS). ``others`` are indexes that lie elsewhere: names, and
    what opens them. ``held_out`` are vectors and labels, by an index's name, by which each of its
    generations is measured.
    """
    keys, limits = keys or Keys(), limits or Limits()
    library = Library(folder, limits, others, held_out)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(library.open, loop)
        yield
        library.let_listeners_go()
        await asyncio.to_thread(library.close)

    # without FastAPI's own pages of documentation: they load scripts from elsewhere
    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url="/openapi.json")
    metrics = Metrics(library.all)
    app.state.parts = Parts(library, keys, limits, Bodies(limits), metrics)
    for routes in (indexes, items, learning, search, events, service):
        app.include_router(routes.router)
    openapi.install(app)
    problems.install(app)
    if media is not None:
        app.mount("/media", _Media(media, keys))
    app.router.routes.append(_Page("/", StaticFiles(directory=PAGE, html=True)))
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "PUT", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"], max_age=600,
        )  # fmt: skip
    hosts = {*host_names, *LOOPBACK} if not keys else set(host_names) or None
    app.add_middleware(Guard, metrics=metrics, hosts=hosts, origins=origins)
    return app


class _Page(Mount):
    """Everything but what is asked of the API, which says itself what it does not have."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether this is what is asked for."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            return Match.NONE, {}
        return super().matches(scope)


class _Media(StaticFiles):
    """Pictures, for whoever may read."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        super().__init__(directory=folder, follow_symlink=False)
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._keys.check(HTTPConnection(scope), "read")
        await super().__call__(scope, receive, send)
