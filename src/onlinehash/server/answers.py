"""The forms of answers, for the OpenAPI document: they are made as plain dicts, and not checked again."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import Response

from onlinehash.index.results import Stats
from onlinehash.server.problems import MEDIA_TYPE, Problem


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Changed(_Answer):
    """A change is on the disk, and searches see it."""

    items: int = Field(examples=[2], description="items that were added or deleted")
    generation: int = Field(examples=[17], description="the one that is served")


class Learnt(_Answer):
    """A lesson is on the disk. It is in every search whose generation is this one, or a later one."""

    generation: int = Field(examples=[18], description="the one that contains it")
    served: int = Field(examples=[18], description="the one that is served")


class Refreshed(_Answer):
    """All that had been learnt is served."""

    generation: int = Field(examples=[18])


class HitAnswer(_Answer):
    """One neighbour."""

    id: int | str
    distance: float
    payload: dict[str, Any] | None = None


class HitsAnswer(_Answer):
    """For each query its neighbours, the nearest first, and the generation that all of them are of."""

    hits: list[list[HitAnswer]] = Field(examples=[[[{"id": "a.jpg", "distance": 1.25}]]])
    generation: int = Field(examples=[17])
    score: str = Field(examples=["asymmetric"], description="hamming, asymmetric or cosine")


class ItemAnswer(_Answer):
    """A stored item, with its vector where the index keeps vectors."""

    id: int | str
    payload: dict[str, Any] | None
    labels: list[int | str]
    vector: list[float] | None


class OneItem(_Answer):
    """One item."""

    item: ItemAnswer
    generation: int


class ItemsAnswer(_Answer):
    """Those items that are there, null for the others."""

    items: list[ItemAnswer | None]
    generation: int


class PageAnswer(_Answer):
    """Some items; ``next`` is the ``after`` of the next page, null at the end."""

    items: list[ItemAnswer]
    next: int | None
    generation: int


class CodeAnswer(_Answer):
    """What is stored of an item, and what searches compare: as hexadecimal and as bits."""

    id: int | str
    base: str = Field(examples=["0f3a"])
    live: str = Field(examples=["b1"])
    base_bits: str = Field(examples=["0000111100111010"])
    live_bits: str = Field(examples=["10110001"])


class OneCode(_Answer):
    """The codes of one item, of one generation."""

    code: CodeAnswer
    generation: int


class CodesAnswer(_Answer):
    """The codes of some items, all of one generation."""

    codes: list[CodeAnswer]
    n_base_bits: int
    n_bits: int
    generation: int


class StatsAnswer(_Answer):
    """What an index holds, what it serves, and how its learning goes."""

    stats: Stats
    generation: int


class Summary(_Answer):
    """An index in a list; ``problem`` says why it cannot be served."""

    name: str
    items: int | None = None
    generation: int | None = None
    dim: int | None = None
    n_bits: int | None = None
    problem: str | None = None


class IndexList(_Answer):
    """All indexes of the server."""

    indexes: list[Summary]


class Deleted(_Answer):
    """An index is gone, with its files."""

    deleted: str


class Health(_Answer):
    """``ok``, and the version."""

    status: str
    version: str


def ok(content: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(to_json(content), status, media_type="application/json")


def answers(model: type[BaseModel], *problems: int, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says that a call answers."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found: dict[int | str, dict[str, Any]] = {status: {"model": model}}
    for code in sorted({401, 403, 405, 422, 503, *problems}):
        found[code] = {"description": _SAID[code], "content": content}
    return found


_SAID = {
    400: "The body cannot be read.",
    401: "A key is needed.",
    403: "The key may not do this, or the request comes from a page of another site.",
    404: "There is no such index, or no such item.",
    405: "The path does not take this method; Allow names those that it takes.",
    408: "The body did not arrive in time.",
    409: "It is there already, or the index is not initialised.",
    413: "The body is too large.",
    415: "The body is of a form that is not read here.",
    422: "What was given is not what was expected; the detail says both. Nothing has changed.",
    429: "As much waits as the server takes on; Retry-After says when to ask again.",
    501: "A package that this needs is not installed.",
    503: "The server is stopping, the index is damaged, or the time was not enough.",
    507: "The disk is full or fails; nothing has changed.",
}
BODY = (400, 404, 408, 413, 415, 429, 501)
CHANGE = (*BODY, 507)
Problem.model_rebuild()
