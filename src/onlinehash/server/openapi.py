"""The OpenAPI document: FastAPI's, with the bodies that are read by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from onlinehash import __version__
from onlinehash.server.forms import Form
from onlinehash.server.problems import Problem

_ABOUT = (
    "A binary similarity index whose codes learn while it serves. Errors are application/problem+json "
    "(RFC 9457); their `detail` names what was expected and what was given, and nothing has changed."
)
_BINARY = {"type": "string", "format": "binary"}
_FORMS: dict[str, type[Form]] = {}


def body_of(form: type[Form]) -> dict[str, Any]:
    """The body of a route, in every form that it may come in."""
    _FORMS[form.__name__] = form
    from onlinehash.server.bodies import ARROW, JSON, SAFETENSORS

    content: dict[str, Any] = {JSON: {"schema": {"$ref": f"#/components/schemas/{form.__name__}"}}}
    if {"vectors", "sample"} & set(form.model_fields):
        content[SAFETENSORS] = {"schema": _BINARY}
        if form.__name__ != "Create":
            content[ARROW] = {"schema": _BINARY}
    return {"requestBody": {"required": True, "content": content}}


def install(app: FastAPI) -> None:
    """Put the document in place of FastAPI's own."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title="onlinehash", version=__version__, description=_ABOUT, routes=app.routes)
            schemas = made.setdefault("components", {}).setdefault("schemas", {})
            forms: tuple[type[BaseModel], ...] = (*_FORMS.values(), Problem)
            for form in forms:
                schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
                schemas.update(schema.pop("$defs", {}))
                schemas[form.__name__] = schema
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{}, {"key": []}]
            app.openapi_schema = made
        return app.openapi_schema

    replace: Callable[[], dict[str, Any]] = document
    app.openapi = replace  # type: ignore[method-assign]
