"""What a question yields: one number a seed, with the panel, line and place that it is drawn at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["curves", "dots"]


@dataclass(frozen=True, slots=True)
class Record:
    """``line`` is what is compared, ``panel`` where (a set, a number of bits), ``x`` how far along."""

    panel: str
    line: str
    x: float | str
    values: list[float]
    goal: float | None = None  # the least that the mean should be


def collected(measured: Iterable[Record]) -> list[Record]:
    """Records of one seed each, put together where they are of the same thing, in order of appearance."""
    found: dict[tuple[str, str, float | str], Record] = {}
    for record in measured:
        key = record.panel, record.line, record.x
        found.setdefault(key, Record(*key, [], record.goal)).values.extend(record.values)
    return list(found.values())
