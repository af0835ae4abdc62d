"""Tables and figures of docs/quality.md from docs/quality.json. The words there are written by hand.

Between ``<!-- name -->`` and ``<!-- end of name -->`` stands what is drawn.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.beyond.figure import Records, figure

ROOT = Path(__file__).parents[2].resolve()
FOUND = ROOT / "docs" / "quality.json"
DOCUMENT = ROOT / "docs" / "quality.md"
FIGURES = ROOT / "docs" / "quality"


def write(found: dict[str, Any]) -> None:
    """Draw all figures, and the tables into the document."""
    FIGURES.mkdir(exist_ok=True)
    for name, part in found.items():
        (FIGURES / f"{name}.svg").write_text(drawing(name, part["records"]))
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(), found))


def with_tables(text: str, found: dict[str, Any]) -> str:
    """The document with everything between its marks drawn anew."""

    def drawn(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n{section(name, found[name])}\n<!-- end of {name} -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end of \1 -->", drawn, text, flags=re.DOTALL)


def section(name: str, part: dict[str, Any]) -> str:
    """Command, figure and table."""
    head = part["machine"]
    return "\n\n".join([
        f"    python -m benchmarks.beyond {name}",
        f"![{import_module(f'benchmarks.beyond.{name}').ABOUT}](quality/{name}.svg)",
        table(part["records"]),
        f"*{_splits(part)}; {head['date']}, {head['cpu']}, {head['cores']} cores.*",
    ])  # fmt: skip


def table(records: Records) -> str:
    """A row for each line of each panel, a column for each place."""
    xs = sorted(dict.fromkeys(record["x"] for record in records), key=_place)
    cells = {(record["panel"], record["line"], record["x"]): _cell(record) for record in records}
    rows = [["", "", *(f"{x:,}" if isinstance(x, (int, float)) else x for x in xs)]]
    rows.append(["---", "---", *("---:" for _ in xs)])
    previous = ""
    panels = list(dict.fromkeys(record["panel"] for record in records))
    lines = dict.fromkeys((record["panel"], record["line"]) for record in records)
    for panel, line in sorted(lines, key=lambda of: panels.index(of[0])):
        rows.append(
            [panel if panel != previous else "", line, *(cells.get((panel, line, x), "") for x in xs)]
        )
        previous = panel
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def drawing(name: str, records: Records) -> str:
    """The question's figure."""
    question = import_module(f"benchmarks.beyond.{name}")
    return figure(records, question.FIGURE, question.AXES)


def _place(x: float | str) -> float:
    """Where a column stands: by its number, or the number that its words begin with, or last."""
    if isinstance(x, str):
        number = re.match(r"[\d,]+", x)
        return float(number[0].replace(",", "")) if number else np.inf
    return x


def _cell(record: dict[str, Any]) -> str:
    mean = round(float(np.mean(record["values"])), 4) + 0.0  # no minus before 0
    digits = f"{mean:,.0f}" if abs(mean) >= 100 else f"{mean:.3g}" if abs(mean) >= 1 else f"{mean:.3f}"
    if record["goal"] is None:
        return digits
    return f"{digits} (≥ {record['goal']:g}{'' if mean >= record['goal'] else ', **missed**'})"


def _splits(part: dict[str, Any]) -> str:
    most = max(len(record["values"]) for record in part["records"])
    return "one split" if most == 1 else f"mean of {most} splits"
