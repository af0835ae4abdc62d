"""Figures of records as SVG, the same every time: curves along numbers, or dots beside the lines' names."""

from __future__ import annotations

from io import StringIO
from textwrap import fill
from typing import Any, Literal

import numpy as np

Records = list[dict[str, Any]]

_COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#882255", "#999933",
    "#44AA99", "#777777", "#000000",
)  # fmt: skip
_MARKS = "os^Dv<>pPX*h"
_STYLE: Any = {
    "svg.hashsalt": "onlinehash", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
    "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False, "lines.markersize": 4,
}  # fmt: skip


def figure(records: Records, kind: Literal["curves", "dots"], axes: dict[str, Any]) -> str:
    """An SVG with an axis for each panel, and one legend."""
    import matplotlib as mpl

    panels: dict[str, Records] = {}
    for record in records:
        panels.setdefault(record["panel"], []).append(record)
    with mpl.rc_context(_STYLE):
        canvas, drawn = _curves(panels) if kind == "curves" else _dots(panels)
        handles: dict[str, Any] = {}
        for axis, panel in zip(drawn, panels, strict=True):
            axis.set_title(fill(panel, 38))
            axis.set(**axes)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        columns = max(2, round(canvas.get_figwidth() / 2.4))
        where: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
        canvas.legend(handles.values(), handles.keys(), **where)
        svg = StringIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in svg.getvalue().splitlines()) + "\n"


def _canvas(rows: int, columns: int, width: float, height: float, **more: Any) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    return canvas, list(canvas.subplots(rows, columns, squeeze=False, **more).ravel())


def _curves(panels: dict[str, Records]) -> tuple[Any, list[Any]]:
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    canvas, axes = _canvas(rows, columns, 4.2 * columns, 3.1 * rows)
    for spare in axes[len(panels) :]:
        spare.set_visible(False)
    lines = dict.fromkeys(record["line"] for records in panels.values() for record in records)
    for i, line in enumerate(lines):
        style = {"color": _COLOURS[i % 12], "marker": _MARKS[i % 12], "linestyle": "-" if i < 12 else ":"}
        for axis, records in zip(axes, panels.values(), strict=False):
            of = sorted((r for r in records if r["line"] == line), key=lambda r: float(r["x"]))
            if of:
                axis.plot([r["x"] for r in of], [np.mean(r["values"]) for r in of], label=line, **style)
    return canvas, axes[: len(panels)]


def _dots(panels: dict[str, Records]) -> tuple[Any, list[Any]]:
    """Side by side where all panels have the same lines, else below each other."""
    lines = [list(dict.fromkeys(r["line"] for r in records))[::-1] for records in panels.values()]
    if all(of == lines[0] for of in lines):
        height = 1.2 + 0.24 * len(lines[0])
        canvas, axes = _canvas(1, len(panels), 3.5 + 2.6 * len(panels), height, sharey=True)
    else:
        heights = [len(of) + 2 for of in lines]
        size = {"gridspec_kw": {"height_ratios": heights}}
        canvas, axes = _canvas(len(panels), 1, 8, 1 + 0.24 * sum(heights), **size)
    xs = dict.fromkeys(record["x"] for records in panels.values() for record in records)
    for axis, records, of in zip(axes, panels.values(), lines, strict=True):
        for i, x in enumerate(xs):
            at = [record for record in records if record["x"] == x]
            values, places = [np.mean(r["values"]) for r in at], [of.index(r["line"]) for r in at]
            style = {"linestyle": "none", "color": _COLOURS[i]}
            axis.plot(values, places, marker=_MARKS[i], label=str(x), **style)
            goals = [(r["goal"], place) for r, place in zip(at, places, strict=True) if r["goal"] is not None]
            axis.plot(*zip(*goals, strict=True), marker="|", markersize=12, **style) if goals else None
        axis.set_yticks(range(len(of)), of)
        axis.set_ylim(-0.6, len(of) - 0.4)
    return canvas, axes
