"""``python -m benchmarks.layout``: how large collections would be laid out, written into docs/scale.md.

Computed, not measured: from what one core was measured to do and what the memory of that machine gave
(docs/measurements.json), and from nodes of a stated size. What the network adds is not in it.
"""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from benchmarks.tables import FIGURES, ROOT

SCALE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- layout: python -m benchmarks.layout -->", "<!-- /layout -->"
CORES, MEMORY, SHARE = 16, 64 << 30, 0.6  # of a node; what codes may take of its memory
SHAPES = ((64, 64), (512, 64))
SIZES = ((10**9, "10⁹"), (10**11, "10¹¹"))


def per_core(found: dict[str, Any]) -> dict[str, float]:
    """Codes a second on one core: refreshed by shape, scanned for 100 queries together and for one."""
    kinds = ("refresh", "M codes/s")
    rows = found["refresh"]["rows"]
    refresh = {row["case"]: row for row in rows if (row["what"], row["unit"]) == kinds}
    scan = {row["case"]: row for row in found["scan"]["rows"] if row["what"] == "scan, 1 thread"}
    each = {f"refresh {b}": 1e6 * refresh[f"{b}→{n} bits, 10M codes"]["ours"] for b, n in SHAPES}
    for queries in (1, 100):
        each[f"scan {queries}"] = 1e9 * scan[f"64 bits, 10M random codes, queries={queries}, k=100"]["ours"]
    return each


def bandwidth(found: dict[str, Any]) -> float:
    """Bytes a second that codes are read at, where no cache holds them: one query over 100 million."""
    case = "64 bits, 100M items, queries=1, k=10"
    (row,) = (row for row in found["large"]["rows"] if (row["what"], row["case"]) == ("search", case))
    return float(100e6 * 8 / (row["ours"] / 1000))


def layout(n: int, base_bits: int, n_bits: int, core: dict[str, float], memory: float) -> dict[str, float]:
    """Memory, nodes, and times of ``n`` items: each node holds one shard and works on all its cores."""
    item = base_bits / 8 + 2 * n_bits / 8 + 1  # base code, live codes of two generations, open or closed
    nodes = ceil(n * item / (SHARE * MEMORY))
    own = n / nodes
    live, both = own * n_bits / 8, own * (base_bits + n_bits) / 8
    return {
        "bytes": item, "terabytes": n * item / 1e12, "nodes": nodes,
        "refresh": max(own / (CORES * core[f"refresh {base_bits}"]), both / memory),
        "search": max(own / (CORES * core["scan 1"]), live / memory),
        "searches": min(CORES * core["scan 100"] / own, 100 * memory / live),
        "rehash": n * 1280 * 4 / 1e12,
    }  # fmt: skip


def table(found: dict[str, Any]) -> str:
    """In Markdown."""
    core, memory = per_core(found), bandwidth(found)
    names = ("items", "bits", "bytes an item", "memory", "nodes", "refresh", "one search", "searches/s",
             "hashing again reads")  # fmt: skip
    lines = [" | ".join(names), "|".join("---" for _ in names)]
    for n, name in SIZES:
        for base_bits, n_bits in SHAPES:
            of = layout(n, base_bits, n_bits, core, memory)
            lines.append(" | ".join([
                name, f"{base_bits} → {n_bits}", f"{of['bytes']:.0f}", f"{of['terabytes']:.3g} TB",
                f"{of['nodes']:,}", f"{of['refresh']:.2g} s", f"{1000 * of['search']:,.0f} ms",
                f"{of['searches']:,.0f}", f"{of['rehash']:,.3g} TB",
            ]))  # fmt: skip
    body = "\n".join(f"| {line} |" for line in lines)
    measured = "; ".join(f"{name}: {value / 1e6:,.0f} M codes/s" for name, value in core.items())
    measured += f"; memory: {memory / 1e9:.0f} GB/s of the machine"
    return f"{BEGIN}\n{body}\n\nOne core, as measured: {measured}.\n{END}"


def written(text: str, found: dict[str, Any]) -> str:
    """The document with its table of now."""
    return text[: text.index(BEGIN)] + table(found) + text[text.index(END) + len(END) :]


if __name__ == "__main__":
    SCALE.write_text(written(SCALE.read_text(), json.loads(FIGURES.read_text())))
