"""Modules that come with ``onlinehash[images]``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onlinehash.errors import MissingExtraError


def extra(module: str) -> Any:
    """A module that pictures need."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtraError(f"pictures need {name}: pip install 'onlinehash[images]'") from error
