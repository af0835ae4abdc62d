"""``where``: which items a search may find, by payload, labels and ids.

    {"year": {"gte": 2020}, "tag": "cat"}       all of these hold
    {"year": [2020, 2021]}                       one of these values: short for {"in": [...]}
    {"camera.maker": "Acme"}                       a field within a field
    {"tag": {"exists": True}}                    the field is there
    {"$labels": "cat"}   {"$id": ["a", "b"]}     labels kept with the item; its id
    {"$or": [{...}, {...}]}   {"$not": {...}}

Operators: eq, ne, gt, gte, lt, lte, in, exists. Types are told apart: 2020 is not "2020", nor is 1
true. A field that holds a list matches where one of its elements does; ``ne`` and ``$not`` are what
is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from onlinehash.errors import InvalidInputError

Value: TypeAlias = str | int | float | bool | None

MAX_DEPTH, MAX_PARTS = 20, 500
COMPARISONS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
LABELS, ID, OR, NOT = "$labels", "$id", "$or", "$not"
_OPERATORS = (*COMPARISONS, "ne", "in", "exists")


@dataclass(frozen=True, slots=True)
class Holds:
    """A field, the labels or the id compare to a value."""

    field: tuple[str, ...] | str  # a path into the payload, or "$labels" or "$id"
    operator: str  # one of COMPARISONS, or "in"
    value: Value | tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """A field is there."""

    field: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A filter does not hold."""

    part: Filter


@dataclass(frozen=True, slots=True)
class All:
    """All of some filters hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of some filters holds."""

    parts: tuple[Filter, ...]


Filter: TypeAlias = Holds | Exists | Not | All | Some


def parse(where: Any, depth: int = 0) -> Filter:
    """Read a filter, or say what is wrong with it.

    >>> parse({"year": {"gte": 2020}})
    All(parts=(Holds(field=('year',), operator='gte', value=2020),))
    """
    if not isinstance(where, Mapping):
        raise _wrong(f"expected a mapping of fields to conditions, got {where!r}")
    if depth > MAX_DEPTH:
        raise _wrong(f"filters may lie {MAX_DEPTH} deep in one another")
    parts: list[Filter] = []
    for name, condition in where.items():
        if name == OR:
            if not isinstance(condition, (list, tuple)) or not 0 < len(condition) <= MAX_PARTS:
                raise _wrong(f"$or: expected a list of 1 to {MAX_PARTS} filters, got {condition!r:.60}")
            parts.append(Some(tuple(parse(part, depth + 1) for part in condition)))
        elif name == NOT:
            parts.append(Not(parse(condition, depth + 1)))
        else:
            parts += _conditions(_field(name), condition)
    if len(parts) > MAX_PARTS:
        raise _wrong(f"at most {MAX_PARTS} conditions, got {len(parts)}")
    return All(tuple(parts))


def _conditions(field: tuple[str, ...] | str, condition: Any) -> list[Filter]:
    if not isinstance(condition, Mapping):
        condition = {"in" if isinstance(condition, (list, tuple, set, frozenset)) else "eq": condition}
    if not condition:
        raise _wrong(f"{_name(field)}: no operator; there are {', '.join(_OPERATORS)}")
    return [_condition(field, operator, value) for operator, value in condition.items()]


def _condition(field: tuple[str, ...] | str, operator: Any, value: Any) -> Filter:
    if operator not in _OPERATORS:
        raise _wrong(f"{_name(field)}: {operator!r} is no operator; there are {', '.join(_OPERATORS)}")
    if operator == "exists":
        if not isinstance(value, bool) or isinstance(field, str):
            raise _wrong(f"{_name(field)}: exists expects True or False, and a field of the payload")
        return Exists(field) if value else Not(Exists(field))
    if operator == "in":
        if not isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
            raise _wrong(f"{_name(field)}: in expects a list, got {value!r}")
        return Holds(field, "in", tuple(_value(field, one) for one in value))
    if operator == "ne":
        return Not(Holds(field, "eq", _value(field, value)))
    value = _value(field, value)
    if operator != "eq" and (value is None or isinstance(value, bool)):
        raise _wrong(f"{_name(field)}: {operator} expects a number or a str, got {value!r}")
    return Holds(field, operator, value)


def _field(name: Any) -> tuple[str, ...] | str:
    if name in (LABELS, ID):
        return str(name)
    if not isinstance(name, str) or name.startswith("$"):
        raise _wrong(f"expected a field's name, $labels, $id, $or or $not, got {name!r}")
    path = tuple(name.split("."))
    if not all(path) or '"' in name or "\0" in name:
        raise _wrong(f"a field's name must have no empty part and no quotation mark, got {name!r}")
    return path


def _value(field: tuple[str, ...] | str, value: Any) -> Value:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _wrong(f"{_name(field)}: expected a str, a finite number, a bool or None, got {value!r}")


def _name(field: tuple[str, ...] | str) -> str:
    return repr(field if isinstance(field, str) else ".".join(field))


def _wrong(what: str) -> InvalidInputError:
    return InvalidInputError(f"where: {what}")
