"""Learning, and bringing what was learnt to what is served."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from onlinehash.server.answers import CHANGE, Learnt, Refreshed, answers, ok
from onlinehash.server.forms import Learn, Tag, rows_of
from onlinehash.server.openapi import body_of
from onlinehash.server.state import WriteIndex, parts_of

router = APIRouter(prefix="/v1/indexes/{name}", tags=["learning"])


@router.post(
    "/learn", summary="Learn from labelled vectors", openapi_extra=body_of(Learn),
    responses=answers(Learnt, *CHANGE),
)  # fmt: skip
async def learn(served: WriteIndex, request: Request) -> Response:
    """The lesson is on the disk when this answers: it survives whatever happens to the server."""
    async with parts_of(request).body(request, Learn) as form:
        labels = rows_of(form.labels)
        number = await served.learn(lambda index: index.learn(form.vectors, labels), form.wait)
    return ok({"generation": number, "served": served.index.generation})


@router.post(
    "/tag", summary="Learn from stored items", openapi_extra=body_of(Tag), responses=answers(Learnt, *CHANGE)
)
async def tag(served: WriteIndex, request: Request) -> Response:
    """The lesson is on the disk when this answers: it survives whatever happens to the server."""
    async with parts_of(request).body(request, Tag) as form:
        labels = rows_of(form.labels)
        number = await served.learn(lambda index: index.tag(form.ids, labels, keep=form.keep), form.wait)
    return ok({"generation": number, "served": served.index.generation})


@router.post("/refresh", summary="Serve what has been learnt", responses=answers(Refreshed, 404))
async def refresh(served: WriteIndex) -> Response:
    """After every lesson this happens by itself; this waits for it."""
    return ok({"generation": await served.refresh()})
