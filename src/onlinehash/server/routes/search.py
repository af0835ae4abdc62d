"""Searching."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from onlinehash.server.answers import BODY, HitsAnswer, answers
from onlinehash.server.forms import Search
from onlinehash.server.openapi import body_of
from onlinehash.server.state import ReadIndex, parts_of

router = APIRouter(prefix="/v1/indexes/{name}", tags=["search"])


@router.post(
    "/search",
    summary="The nearest items",
    openapi_extra=body_of(Search),
    responses=answers(HitsAnswer, *BODY),
)
async def search(served: ReadIndex, request: Request) -> Response:
    """Of each query: a vector, or a stored item, which is left out itself. Of one generation, whole."""
    async with parts_of(request).body(request, Search) as form:
        return Response(await served.searches.answer(form), media_type="application/json")
