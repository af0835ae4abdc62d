"""``python -m benchmarks.tables``: draw the documents' tables again from docs/measurements.json.

docs/measurements.md is written whole; in README.md what stands between the two marks is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "measurements.json"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"

ABOUT = {
    "cluster": (
        "All shards share the cores of one machine, so these figures say what distribution costs, not what "
        "it brings. Fewer seconds are better."
    ),
    "approximate": "Each against the exact scan of as many codes, 50 queries in a batch, all cores.",
    "start": "Seconds of a new process, less those of an empty one.",
    "learn": (
        "The kernel learns R alone, on one core. *Train as published* is all that training takes: "
        "features, base codes, targets, P and R, on all cores, as the paper's program had its machine's."
    ),
    "refresh": "On one core unless said; making the tables is part of it.",
    "scan": (
        "Exact k nearest with as many threads on both sides, distances compared in the same run. "
        "Clustered: 1,000 centres with 6% of the bits flipped. Goals: 8 in batches and 2 for single "
        "queries at 64 bits and k=10 on AVX-512, nowhere slower."
    ),
    "rank": "mAP over the full ranking. Both ways give the same figure.",
    "quality": (
        "mAP on 30,000 photographs (1280 features of an ImageNet network): full ranking, relevant is "
        "a shared label, expected over tie orders, 2,000 queries apart from the stream, which is also "
        "the database, in one pass; mean of three splits and seeds. `all`: 18 labels, three in four "
        "photographs carry `person`; `no-person`: without that label; `tags`: 82 words of captions. "
        "The bound regresses targets on all raw features and hashes both sides anew."
    ),
    "index": (
        "The index in files on a local disk, random codes unless photographs are named. *Under "
        "searches*: one thread asks single queries without a pause while another learns without a "
        "pause. *Memory an item* is what a new process grows by when it opens the file; ids and "
        "payloads stay on disk. The asymmetric score is the default."
    ),
    "images": (
        "CPU time on one core. Photographs are made: smooth shapes with grain, as JPEG of quality 85."
    ),
    "server": (
        "One server process and the load generator wrk on the same machine, each answer a query of its "
        "own as JSON. *While learning*: another client teaches 256 rows at a time without a pause, and each "
        "lesson is on the disk and served before the next. wrk takes a part of the cores, and the "
        "searches in process have them all."
    ),
    "large": "100 million items in one index on one machine.",
}


def main() -> None:
    """Write the documents that show them."""
    from benchmarks import layout

    found = json.loads(FIGURES.read_text())
    layout.SCALE.write_text(layout.written(layout.SCALE.read_text(), found))
    (ROOT / "docs" / "measurements.md").write_text(measurements(found))
    readme = ROOT / "README.md"
    readme.write_text(with_summary(readme.read_text(), found))


def measurements(found: dict[str, Any]) -> str:
    """All figures, a section for each benchmark."""
    parts = [
        "# Measurements",
        "Drawn by `python -m benchmarks.tables` from docs/measurements.json, which "
        "`python -m benchmarks NAME --json docs/measurements.json` writes. A ratio is how many times "
        "better than the peer in the same run; what was missed is marked.",
    ]
    for name, about in ABOUT.items():
        if name in found:
            head = ", ".join(f"{key} {value}" for key, value in found[name]["machine"].items())
            draw = _quality if name == "quality" else _plain
            command = f"    python -m benchmarks {name}"
            parts += [f"## {name}", about, command, draw(found[name]["rows"]), f"*{head}*"]
    return "\n\n".join(parts) + "\n"


def with_summary(readme: str, found: dict[str, Any]) -> str:
    """The README with the summary between its marks."""
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{_summary(found)}\n{END}{after}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---" if i == 0 else "---:" for i in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        goal = "" if row["goal"] is None else f"≥ {row['goal']:g}{'' if row['met'] else ' **missed**'}"
        extra = "".join(
            f"; {_number(value)} {key}" for key, value in row["more"].items() if key not in ("cpu", "wall")
        )
        lines.append([
            f"{row['what']}, {row['case']}{extra}", f"{row['ours']:.3g} {row['unit']}", f"{row['peer']:.3g}",
            row["against"], f"{row['ratio']:.3g}", goal,
        ])  # fmt: skip
    return _table(["what", "ours", "peer", "peer is", "ratio", "goal"], lines)


def _number(value: Any) -> str:
    return f"{min(value):.3g} to {max(value):.3g}" if isinstance(value, list) else f"{value:.3g}"


def _quality(rows: list[dict[str, Any]]) -> str:
    values = {
        (row["more"]["setting"], row["more"]["method"], row["more"].get("n_bits")): row["ours"]
        for row in rows
        if row["more"]
    }
    settings = list(dict.fromkeys(key[0] for key in values))
    bits = sorted({key[2] for key in values if key[2]})
    methods = list(dict.fromkeys(key[1] for key in values))
    lines = []
    for method in methods:
        line = [f"**{method}**" if method == "defaults" else method]
        for setting in settings:
            for n_bits in bits:
                value = values.get((setting, method, n_bits), values.get((setting, method, None)))
                line.append("" if value is None else f"{value:.3f}")
        lines.append(line)
    return _table(["", *(f"{setting} {n_bits}" for setting in settings for n_bits in bits)], lines)


def _summary(found: dict[str, Any]) -> str:
    """The few rows that a newcomer wants to know."""
    wanted = {
        "learn": ("K=64 N=20,000 averaged",),
        "refresh": ("64→64 bits, 10M", "512→64 bits, 10M", "64→64 bits, all cores"),
        "scan": (
            "64 bits, 10M random codes, queries=1, k=10",
            "64 bits, 10M random codes, queries=100, k=10",
        ),
        "rank": ("ties expected",),
        "index": ("search beside vectors, 512 features, 200,000 items, one query", "memory beside vectors"),
        "large": ("search, 64 bits, 100M items, queries=1",),
    }
    skipped = ("its matrix products alone", "a memory copy of as many bytes", "one core")
    lines = []
    for name, cases in wanted.items():
        for row in found[name]["rows"]:
            named = f"{row['what']}, {row['case']}"
            chosen = any(re.search(rf"{re.escape(case)}\b", named) for case in cases)
            usual = "2 threads" not in row["what"] and "CORETYPE" not in row["case"]
            if chosen and usual and row["against"] not in skipped:
                lines.append([
                    named, f"{row['ours']:.3g} {row['unit']}", f"{row['against']}: {row['peer']:.3g}",
                    f"{row['ratio']:.3g}×",
                ])  # fmt: skip
    speed = _table(["", "onlinehash", "beside", ""], lines)
    methods = ("raw cosine", "PCA-ITQ, 300 rows", "as published", "defaults")
    quality = [row for row in found["quality"]["rows"] if row["more"].get("method") in methods]
    machine = found["scan"]["machine"]
    return (
        f"{speed}\n\n`make bench`, {machine['cpu']}, {machine['cores']} cores; kernels on one core unless "
        "said, the index on all.\n\n"
        f"{_quality(quality)}\n\nmAP on photographs by the number of bits: `make bench ONLY=quality`; "
        "what is measured and how is in [docs/measurements.md](docs/measurements.md)."
    )


if __name__ == "__main__":
    main()
