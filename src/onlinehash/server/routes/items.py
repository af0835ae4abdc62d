"""Items: added, deleted, looked at one by one and page by page, and their codes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from onlinehash.errors import InvalidInputError, UnknownIdError
from onlinehash.index.index import Index
from onlinehash.index.results import Id
from onlinehash.server.answers import (
    BODY,
    CHANGE,
    Changed,
    CodesAnswer,
    ItemsAnswer,
    OneCode,
    OneItem,
    PageAnswer,
    answers,
    ok,
)  # fmt: skip
from onlinehash.server.forms import Delete, IdsOnly, PutItems, rows_of
from onlinehash.server.openapi import body_of
from onlinehash.server.state import ReadIndex, WriteIndex, parts_of

router = APIRouter(prefix="/v1/indexes/{name}", tags=["items"])

ItemId = Annotated[str, Path(description="an id; a number is one where no text is", examples=["a.jpg"])]
Kind = Annotated[
    Literal["str", "int"] | None, Query(alias="type", description="take the id for a text or a number only")
]


@router.put(
    "/items", summary="Add items, or replace them", openapi_extra=body_of(PutItems),
    responses=answers(Changed, *CHANGE),
)  # fmt: skip
async def put_items(served: WriteIndex, request: Request) -> Response:
    """All of them or none; on the disk and visible when this answers."""
    async with parts_of(request).body(request, PutItems) as form:
        if (form.vectors is None) == (form.codes is None):
            raise InvalidInputError("items: expected either vectors or codes")
        labels = None if form.labels is None else rows_of(form.labels)

        def add(index: Index) -> None:
            if form.codes is None:
                index.add(form.ids, form.vectors, labels, form.payloads, replace=form.replace)
            else:
                index.add_codes(form.ids, form.codes, labels, form.payloads, replace=form.replace)

        await served.change(add)
        return ok({"items": len(form.ids), "generation": served.index.generation})


@router.post(
    "/items/delete",
    summary="Delete items",
    openapi_extra=body_of(Delete),
    responses=answers(Changed, *CHANGE),
)
async def delete_items(served: WriteIndex, request: Request) -> Response:
    """All of them or none."""
    async with parts_of(request).body(request, Delete) as form:
        n = await served.change(lambda index: index.delete(form.ids, missing_ok=form.missing_ok))
    return ok({"items": n, "generation": served.index.generation})


@router.get("/items", summary="Items page by page", responses=answers(PageAnswer, 404))
async def page(
    served: ReadIndex, request: Request,
    where: Annotated[
        str | None, Query(description="a filter as JSON", examples=['{"year": {"gte": 2010}}'])
    ] = None,
    after: Annotated[int | None, Query(description="``next`` of the page before", ge=0, lt=2**62)] = None,
    limit: Annotated[int, Query(ge=1)] = 100,
) -> Response:  # fmt: skip
    """In the order in which they lie. An item that is there all the while comes once."""
    most = parts_of(request).limits.page
    if limit > most:
        raise InvalidInputError(f"limit may be at most {most} on this server, got {limit}")
    filter = None if where is None else _filter(where)
    found = await served.read(lambda index: index.items(where=filter, after=after, limit=limit))
    return ok(asdict(found))


@router.post(
    "/items/get", summary="Items by their ids", openapi_extra=body_of(IdsOnly),
    responses=answers(ItemsAnswer, *BODY),
)  # fmt: skip
async def get_items(served: ReadIndex, request: Request) -> Response:
    """In the order of the ids; null for those that are not there."""
    async with parts_of(request).body(request, IdsOnly) as form:
        generation = served.index.generation
        found = await served.read(lambda index: [index.get(id) for id in form.ids])
    return ok({"items": [one and asdict(one) for one in found], "generation": generation})


@router.post(
    "/items/codes", summary="Codes of items by their ids", openapi_extra=body_of(IdsOnly),
    responses=answers(CodesAnswer, 409, *BODY),
)  # fmt: skip
async def codes(served: ReadIndex, request: Request) -> Response:
    """What is stored of items, and what searches compare, all of one generation."""
    async with parts_of(request).body(request, IdsOnly) as form:
        return ok(await served.read(lambda index: _codes(index, form.ids)))


@router.get("/items/{id:path}/code", summary="The codes of an item", responses=answers(OneCode, 404, 409))
async def code(served: ReadIndex, id: ItemId, type: Kind = None) -> Response:
    """Its base code, which never changes, and its live code."""

    def look(index: Index) -> dict[str, Any]:
        found = _codes(index, [_known(index, id, type)])
        return {"code": found["codes"][0], "generation": found["generation"]}

    return ok(await served.read(look))


@router.get("/items/{id:path}", summary="An item", responses=answers(OneItem, 404))
async def get_item(served: ReadIndex, id: ItemId, type: Kind = None) -> Response:
    """With its payload and labels, and its vector where the index keeps vectors."""

    def look(index: Index) -> dict[str, Any]:
        generation = index.generation
        item = index.get(_known(index, id, type))
        if item is None:
            raise UnknownIdError(f"ids: {id!r} not in the index")
        return {"item": asdict(item), "generation": generation}

    return ok(await served.read(look))


def _known(index: Index, id: str, type: str | None) -> Id:
    """What a path says: the text, or where there is no such item, the number."""
    number = int(id) if id.removeprefix("-").isdecimal() and len(id) < 20 and str(int(id)) == id else None
    if type == "int":
        if number is None:
            raise InvalidInputError(f"ids: {id!r} is not a number")
        return number
    return number if type is None and number is not None and id not in index and number in index else id


def _filter(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"where: not JSON ({error})") from None


def _codes(index: Index, ids: list[Id]) -> dict[str, Any]:
    found = index.codes(ids)
    rows = []
    for id, base, live in zip(ids, found.base, found.live, strict=True):
        row: dict[str, Any] = {"id": id}
        for name, packed, n_bits in (("base", base, found.base_bits), ("live", live, found.n_bits)):
            data = packed.tobytes()
            row[name] = data.hex()
            row[f"{name}_bits"] = "".join(f"{byte:08b}" for byte in data)[:n_bits]
        rows.append(row)
    return {
        "codes": rows, "n_base_bits": found.base_bits, "n_bits": found.n_bits, "generation": found.generation,
    }  # fmt: skip
