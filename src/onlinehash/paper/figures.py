"""Figures 2 to 7 and one on staleness, drawn from what was measured; SVG and PNG, the same every time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinehash.errors import MissingExtraError
from onlinehash.paper.found import Found
from onlinehash.paper.methods import METHODS, RIVALS
from onlinehash.paper.sources import Setting

# Colours that people with any kind of colour vision tell apart (Okabe and Ito), and a mark each.
_STYLES = {
    "ohweu": ("#D55E00", "o", "-"), "ohweu-released": ("#E69F00", "s", "-"),
    "ohweu-paper": ("#CC79A7", "D", "-"),
    "osuph": ("#0072B2", "^", "--"), "mihash": ("#56B4E9", "v", "--"), "okh": ("#009E73", "<", "--"),
    "bsodh": ("#332288", ">", "--"), "osh": ("#882255", "p", "--"), "itq": ("#777777", "x", ":"),
    "lsh": ("#AAAAAA", "+", ":"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure with its title and a sentence on what is to be seen."""

    name: str
    title: str
    about: str
    svg: str
    png: bytes


def figures(found: Found, settings: Sequence[Setting]) -> list[Figure]:
    """All figures for which something was measured."""
    shown = [setting for setting in settings if found.of("stream", data=setting.name)]
    first, rest = shown[:1], shown[1:]
    if len(shown) > 2:
        first, rest = shown[:2], shown[2:]
    drawn = [
        _bits(found, shown),
        _shares("fig3", found, first),
        _shares("fig4", found, rest),
        _accumulated(found),
        _constants(found, settings),
        _asymmetry(found, shown),
        _staleness(found, shown),
    ]
    return [figure for figure in drawn if figure]


def _panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("drawing figures needs matplotlib: pip install onlinehash[paper]") from error
    mpl.rcParams.update({
        "svg.hashsalt": "onlinehash", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
        "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False, "lines.markersize": 4,
    })  # fmt: skip
    from matplotlib.figure import Figure as Canvas

    rows = -(-count // columns)
    canvas = Canvas(figsize=(4.2 * min(columns, count), 3.1 * rows), layout="constrained")
    axes = canvas.subplots(rows, min(columns, count), squeeze=False)
    for spare in axes.ravel()[count:]:
        spare.set_visible(False)
    return canvas, list(axes.ravel()[:count])


def _finished(name: str, title: str, about: str, canvas: Any, axes: Sequence[Any]) -> Figure:
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    inches = 0.5 + 0.07 * max(map(len, handles))  # of the widest entry
    columns = max(1, int(canvas.get_figwidth() / inches))
    canvas.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)
    svg, png = io.StringIO(), io.BytesIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None})
    canvas.savefig(png, format="png", dpi=130, metadata={"Software": None})
    return Figure(name, title, about, svg.getvalue(), png.getvalue())


def _line(axis: Any, method: str, x: Any, ys: Any, **more: Any) -> None:
    """The mean over repeats, and a band of one standard deviation."""
    colour, mark, dash = _STYLES[method]
    mean = np.mean(ys, axis=0)
    axis.plot(x, mean, color=colour, marker=mark, linestyle=dash, label=METHODS[method].title, **more)
    if len(ys) > 1:
        spread = np.std(ys, axis=0, ddof=1)
        axis.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)


def _bits(found: Found, settings: Sequence[Setting]) -> Figure | None:
    if not settings:
        return None
    canvas, axes = _panels(len(settings), 3)
    for axis, setting in zip(axes, settings, strict=True):
        for method in METHODS:
            bits = found.distinct("n_bits", "stream", data=setting.name, method=method)
            ys = [found.values("mAP", "stream", data=setting.name, method=method, n_bits=b) for b in bits]
            if bits:
                _line(axis, method, bits, np.transpose(ys))
        axis.set(title=setting.title, xlabel="bits", ylabel="mAP", xticks=bits)
    about = "mAP by the number of bits, after one pass over the stream; bands are one standard deviation."
    return _finished("fig2", "Figure 2: mAP against bits", about, canvas, axes)


def _shares(name: str, found: Found, settings: Sequence[Setting]) -> Figure | None:
    panels = [(s, b) for s in settings for b in found.distinct("n_bits", "stream", data=s.name)]
    if not panels:
        return None
    canvas, axes = _panels(len(panels), max(1, len(panels) // len(settings)))
    for axis, (setting, n_bits) in zip(axes, panels, strict=True):
        for method in METHODS:
            records = found.of("stream", data=setting.name, method=method, n_bits=n_bits)
            if records:
                curves = [record["values"]["curve"] for record in records]
                n = [look["n"] for look in curves[0]]
                _line(axis, method, n, [[look["mAP"] for look in curve] for curve in curves])
        axis.set(title=f"{setting.title}, {n_bits} bits", xlabel="items of the stream", ylabel="mAP")
    words = "; ".join(setting.title for setting in settings)
    about = "mAP of the whole database as the stream goes by, stored codes brought up to date each time."
    return _finished(name, f"Figure {name[3:]}: mAP against training data ({words})", about, canvas, axes)


def _accumulated(found: Found) -> Figure | None:
    if not found.of("accumulate"):
        return None
    canvas, axes = _panels(2, 2)
    for method in METHODS:
        for record in found.of("accumulate", method=method):
            looks = record["values"]["accumulated"]
            n = [look["n"] for look in looks]
            for axis in axes:
                _line(axis, method, n, [[look["total"] for look in looks]])
    axes[0].set(title="linear", xlabel="items received", ylabel="accumulated seconds")
    axes[1].set(title="logarithmic", xlabel="items received", xscale="log", yscale="log")
    about = (
        "Learning from each chunk of 1,000 items of 4096 features and bringing all received items' codes of "
        "64 bits up to date: OHWEU from base codes, the others by reading all features from disk and hashing "
        "them again."
    )
    return _finished("fig5", "Figure 5: accumulated time", about, canvas, axes)


def _constants(found: Found, settings: Sequence[Setting]) -> Figure | None:
    shown = [setting for setting in settings if found.of("C", data=setting.name)]
    if not shown:
        return None
    canvas, axes = _panels(len(shown), 3)
    styles = {
        ("paper", False): ("#CC79A7", "D", "-", "Eq. 14, last iterate"),
        ("paper", True): ("#CC79A7", "D", "--", "Eq. 14, mean of iterates"),
        ("released", False): ("#E69F00", "s", "-", "the authors' rule, last iterate"),
        ("released", True): ("#E69F00", "s", "--", "the authors' rule, mean of iterates"),
    }
    for axis, setting in zip(axes, shown, strict=True):
        for (rule, average), (colour, mark, dash, label) in styles.items():
            by_C = mAP_by_C(found, setting.name, rule, average)
            axis.plot(list(by_C), list(by_C.values()), color=colour, marker=mark, linestyle=dash, label=label)
        axis.set(title=setting.title, xlabel="C", ylabel="mAP", xscale="log")
    bits = found.of("C")[0]["job"]["n_bits"]
    about = f"mAP at {bits} bits by the largest step C, base codes as long as live codes, as in the paper."
    return _finished("fig6", "Figure 6: mAP against C", about, canvas, axes)


def mAP_by_C(found: Found, data: str, rule: str, average: bool) -> dict[float, float]:
    """Mean mAP over repeats for each C, in the order of C."""
    of: dict[float, list[float]] = {}
    for record in found.of("C", data=data):
        chosen = record["job"]["parameters"]
        if (chosen["rule"], chosen["average"]) == (rule, average):
            of.setdefault(chosen["C_P"], []).append(record["values"]["mAP"])
    return {C: float(np.mean(of[C])) for C in sorted(of)}


def _asymmetry(found: Found, settings: Sequence[Setting]) -> Figure | None:
    if not settings:
        return None
    canvas, axes = _panels(len(settings), 3)
    for axis, setting in zip(axes, settings, strict=True):
        for method in ("ohweu", "ohweu-released", "ohweu-paper"):
            bits = found.distinct("n_bits", "stream", data=setting.name, method=method)
            colour, mark, _ = _STYLES[method]
            for name, dash, what in (("mAP", "-", "asymmetric"), ("mAP, symmetric", ":", "symmetric")):
                ys = [found.mean(name, "stream", data=setting.name, method=method, n_bits=b) for b in bits]
                label = f"{METHODS[method].title}, {what}"
                axis.plot(bits, ys, color=colour, marker=mark, linestyle=dash, label=label)
        axis.set(title=setting.title, xlabel="bits", ylabel="mAP", xticks=bits)
    about = (
        "Query codes straight from the query's features (R), or made like stored ones (P on the base code)."
    )
    return _finished("fig7", "Figure 7: symmetric against asymmetric", about, canvas, axes)


def _staleness(found: Found, settings: Sequence[Setting]) -> Figure | None:
    if not settings:
        return None
    canvas, axes = _panels(len(settings), 3)
    for axis, setting in zip(axes, settings, strict=True):
        n_bits = found.distinct("n_bits", "stream", data=setting.name)[-1]
        for method in ("ohweu", *RIVALS):
            records = found.of("stream", data=setting.name, method=method, n_bits=n_bits)
            curves = [record["values"]["curve"] for record in records]
            lost = [
                [look["mAP"] - look["mAP, new queries on old codes"] for look in curve[1:]]
                for curve in curves
            ]
            if lost and lost[0]:
                _line(axis, method, [look["n"] for look in curves[0][1:]], lost)
        axis.set(title=f"{setting.title}, {n_bits} bits", xlabel="items of the stream", ylabel="mAP lost")
    about = (
        "What a search is worth while a refresh is awaited: mAP lost when queries are encoded by what is "
        "known now, and stored codes are those of the point before."
    )
    return _finished("staleness", "Staleness", about, canvas, axes)
