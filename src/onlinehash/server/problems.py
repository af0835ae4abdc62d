"""Errors as ``application/problem+json`` (RFC 9457). ``error`` names the class that the client raises."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from onlinehash import errors
from onlinehash.errors import BusyError, OnlineHashError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_MOST_COMPLAINTS = 5

# The first that fits, so subclasses come before what they are a kind of.
_STATUS: tuple[tuple[type[OnlineHashError], int], ...] = (
    (errors.UnknownIdError, 404),
    (errors.NotInitializedError, 409),
    (errors.InvalidInputError, 422),
    (errors.InvalidParameterError, 422),
    (errors.MissingExtraError, 501),
    (errors.ReadOnlyError, 403),
    (errors.StorageError, 507),
    (errors.BusyError, 429),
    (errors.OnlineHashError, 503),  # damaged, locked or closed
)


class Problem(BaseModel):
    """An error, as it is answered."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:onlinehash:InvalidInputError", "title": "Unprocessable Entity", "status": 422,
                "detail": "vectors: expected numbers of shape (n, 128); got shape (1, 64)",
                "error": "InvalidInputError",
            }
        }
    )  # fmt: skip

    type: str
    title: str
    status: int
    detail: str
    error: str


class ProblemError(Exception):
    """To be answered as it says; ``error`` is the name of one of ``onlinehash.errors``."""

    def __init__(
        self, status: int, error: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.error, self.detail, self.headers = status, error, detail, headers


def answer(status: int, error: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer."""
    problem = {
        "type": f"urn:onlinehash:{error}", "title": HTTPStatus(status).phrase, "status": status,
        "detail": detail, "error": error,
    }  # fmt: skip
    return Response(to_json(problem), status, headers, MEDIA_TYPE)


def of(error: OnlineHashError) -> Response:
    """The answer to one of our own errors."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    headers = {"Retry-After": f"{max(1, round(error.retry_after))}"} if isinstance(error, BusyError) else None
    return answer(status, type(error).__name__, str(error), headers)


def sentence(error: ValidationError | RequestValidationError) -> str:
    """What a form expected, and what it got."""
    complaints = []
    for one in error.errors()[:_MOST_COMPLAINTS]:
        where = ""
        for part in one["loc"]:
            where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
        message = str(one["msg"]).replace("Input should be", "expected")
        got = one.get("input")
        given = f"a {type(got).__name__}" if isinstance(got, (list, dict, bytes)) else f"{got!r:.60}"
        if one["type"] in ("missing", "json_invalid", "extra_forbidden"):
            complaints.append(f"{where or 'body'}: {message}")
        else:
            complaints.append(f"{where or 'body'}: {message}, got {given}")
    more = len(error.errors()) - len(complaints)
    return "; ".join(complaints) + (f"; and {more} more" if more > 0 else "")


def install(app: FastAPI) -> None:
    """Answer every error with a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, OnlineHashError)
        return of(error)

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        return answer(error.status, error.error, error.detail, error.headers)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(422, "InvalidInputError", sentence(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = f"{request.method} {request.url.path}: {error.detail}"
        headers = dict(error.headers or {})
        if error.status_code == 405:  # starlette names the methods of the first route that it met
            headers["Allow"] = ", ".join(_methods(request))
        return answer(error.status_code, "ServerError", detail, headers)

    async def unforeseen(request: Request, error: Exception) -> Response:
        log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
        return answer(500, "ServerError", "this is a fault of the server; its log says more")

    handlers: dict[type[Exception], Any] = {
        OnlineHashError: ours, ProblemError: problem, RequestValidationError: invalid,
        HTTPException: http, Exception: unforeseen,
    }  # fmt: skip
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _methods(request: Request) -> list[str]:
    """What may be asked of a path, of all routes that lead to it."""
    found: set[str] = set()
    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] == Match.FULL for route in request.app.routes):
            found.add(method)
    return sorted(found)
