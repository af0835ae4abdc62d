"""What happens in an index, as it happens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response, StreamingResponse

from onlinehash.server.answers import StatsAnswer, answers
from onlinehash.server.state import ReadIndex

router = APIRouter(prefix="/v1/indexes/{name}", tags=["events"])

_STREAM = {
    "description": "A stream of events, until either side ends it.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.get(
    "/events", summary="Generations and learning figures", response_class=StreamingResponse,
    responses=answers(StatsAnswer, 404, 429) | {200: _STREAM},
)  # fmt: skip
async def events(
    served: ReadIndex, last_event_id: Annotated[str | None, Header(max_length=20)] = None
) -> Response:
    """``generation``: a refresh has been published. ``items``: what is held has changed. ``pulse``: every
    second, how much is asked. All are JSON objects; docs/server.md lists their fields.
    """
    after = (
        int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else None
    )
    stream = served.events.listen(after, served.pulse)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
