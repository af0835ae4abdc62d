"""Indexes: which there are, and one of them made, looked at and deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.index import Index
from onlinehash.server.answers import CHANGE, Deleted, IndexList, StatsAnswer, answers, ok
from onlinehash.server.forms import Create
from onlinehash.server.openapi import body_of
from onlinehash.server.problems import ProblemError
from onlinehash.server.state import Name, ReadIndex, Reading, Writing

router = APIRouter(prefix="/v1/indexes", tags=["indexes"])


@router.get("", summary="All indexes", responses=answers(IndexList))
async def list_indexes(parts: Reading) -> Response:
    """Those that cannot be served are named with the reason."""
    found = []
    for name in parts.library.names():
        try:
            index = parts.library.get(name).index
            found.append({
                "name": name, "items": index._snapshot.n_items, "generation": index.generation,
                "dim": index.dim, "n_bits": index.n_bits, "problem": None,
            })  # fmt: skip
        except ProblemError as error:
            found.append({"name": name, "problem": error.detail})
    return ok({"indexes": found})


@router.put(
    "/{name}", summary="Make an index", openapi_extra=body_of(Create),
    responses=answers(StatsAnswer, 409, *CHANGE, status=201) | {200: {"model": StatsAnswer}},
)  # fmt: skip
async def create(name: Name, parts: Writing, request: Request) -> Response:
    """201 where it is new, 200 where it was there and ``exist_ok`` lets that pass."""
    async with parts.body(request, Create) as form:
        n_bits = 64 if form.n_bits is None else form.n_bits
        parts.limits.check_sizes(form.dim, n_bits, form.parameters.base_bits)
        if form.sample is not None and form.sample.ndim == 2:
            parts.limits.check_sizes(int(form.sample.shape[1]), None, None)

        def make(path: Path) -> Index:
            hasher = OHWEU(n_bits, **form.parameters.model_dump())
            return Index.create(
                path, form.dim, hasher=hasher, sample=form.sample, keep_vectors=form.keep_vectors,
                durability=form.durability, refresh="manual",
            )  # fmt: skip

        served, new = await asyncio.to_thread(parts.library.create, name, make, form.exist_ok)
        index = served.index
        if not new and ((form.dim or index.dim), n_bits) != (index.dim, index.n_bits):
            raise InvalidParameterError(
                f"{name} has dim={index.dim}, n_bits={index.n_bits}; "
                f"asked for dim={form.dim}, n_bits={n_bits}"
            )
        stats = await served.read(lambda index: served.stats())
    return ok({"stats": stats, "generation": stats["generation"]}, 201 if new else 200)


@router.get("/{name}", summary="What an index holds and serves", responses=answers(StatsAnswer, 404))
async def stats(served: ReadIndex) -> Response:
    """As ``Index.stats``."""
    found = await served.read(lambda index: served.stats())
    return ok({"stats": found, "generation": found["generation"]})


@router.delete("/{name}", summary="Delete an index with its files", responses=answers(Deleted, 404))
async def delete(name: Name, parts: Writing) -> Response:
    """It cannot be had back. Changes that wait are made before; searches under way end."""
    await asyncio.to_thread(parts.library.delete, name)
    return ok({"deleted": name})
