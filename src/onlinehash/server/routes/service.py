"""Is the server there, is it ready, and what are its figures?"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.requests import Request
from starlette.responses import Response

from onlinehash import __version__
from onlinehash.server.answers import Health, answers, ok
from onlinehash.server.metrics import MEDIA_TYPE
from onlinehash.server.problems import ProblemError
from onlinehash.server.state import Reading, parts_of

router = APIRouter(tags=["service"])


@router.get("/healthz", summary="The process answers", responses={200: {"model": Health}})
async def healthz() -> Response:
    """Needs no key."""
    return ok({"status": "ok", "version": __version__})


@router.get("/readyz", summary="Every index is open", responses=answers(Health))
async def readyz(request: Request) -> Response:
    """Needs no key. 503 while the server starts and stops, and if an index cannot be opened."""
    library = parts_of(request).library
    if not library.ready or library.stopping:
        raise ProblemError(503, "ServerError", "starting or stopping")
    broken = len(library.names()) - len(library.all())
    if broken:
        raise ProblemError(503, "IndexFileError", f"indexes that cannot be opened: {broken}")
    return ok({"status": "ok", "version": __version__})


_TEXT = {
    "description": "Prometheus's text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get("/metrics", summary="Figures for Prometheus", responses=answers(Health) | {200: _TEXT})
async def metrics(parts: Reading) -> Response:
    """Needs a key for reading, where there are keys."""
    return Response(parts.metrics.text(), media_type=MEDIA_TYPE)
