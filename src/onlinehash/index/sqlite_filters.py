"""Filters as SQL over the table of items, by SQLite's JSON functions."""

from __future__ import annotations

from typing import Any

from onlinehash.index.filters import COMPARISONS, ID, LABELS, All, Exists, Filter, Holds, Not, Some, Value
from onlinehash.index.inputs import to_json


def to_sql(part: Filter) -> tuple[str, list[Any]]:
    """A condition on a row of ``items``, and its parameters."""
    if isinstance(part, (All, Some)):
        pieces = [to_sql(one) for one in part.parts]
        word, empty = (" AND ", "1") if isinstance(part, All) else (" OR ", "0")
        sql = word.join(f"({piece})" for piece, _ in pieces) or empty
        return sql, [value for _, values in pieces for value in values]
    if isinstance(part, Not):
        sql, values = to_sql(part.part)
        return f"NOT ({sql})", values
    if isinstance(part, Exists):
        return "json_type(items.payload, ?) IS NOT NULL", [_path(part.field)]
    return _holds(part)


def _holds(part: Holds) -> tuple[str, list[Any]]:
    if part.field == ID:
        if isinstance(part.value, tuple):
            return "items.id IN (SELECT atom FROM json_each(?))", [to_json(part.value)]
        sql = f"typeof(items.id) = typeof(?) AND items.id {COMPARISONS[part.operator]} ?"
        return sql, [part.value, part.value]
    source, values = "json_each(items.labels) AS e", []
    if part.field != LABELS:
        source, values = "json_each(items.payload, ?) AS e", [_path(part.field)]
    if isinstance(part.value, tuple):
        condition, more = _ONE_OF, [to_json(part.value)]
    else:
        condition, more = _compare(part.operator, part.value)
    # a list has numbers for keys, a plain value has none, and what is left is an object's members
    sql = f"EXISTS (SELECT 1 FROM {source} WHERE typeof(e.key) <> 'text' AND {condition})"
    return sql, values + more


_NUMBER = "('integer', 'real')"
_ONE_OF = (
    "EXISTS (SELECT 1 FROM json_each(?) AS v WHERE v.atom IS e.atom "
    f"AND (v.type = e.type OR v.type IN {_NUMBER} AND e.type IN {_NUMBER}))"
)


def _compare(operator: str, value: Value) -> tuple[str, list[Any]]:
    if value is None or isinstance(value, bool):
        return f"e.type = '{to_json(value)}'", []
    kind = "= 'text'" if isinstance(value, str) else f"IN {_NUMBER}"
    return f"e.type {kind} AND e.atom {COMPARISONS[operator]} ?", [value]


def _path(field: Any) -> str:
    return "$" + "".join(f'."{part}"' for part in field)
