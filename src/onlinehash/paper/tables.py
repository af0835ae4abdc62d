"""Tables, as rows of text: drawn as Markdown, CSV or HTML by whoever needs them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from onlinehash.paper.found import Found, spread
from onlinehash.paper.methods import METHODS, PUBLISHED_SECONDS, RIVALS
from onlinehash.paper.sources import MS_COCO, NUS_WIDE, Made, Setting


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a sentence on how to read it, a head and rows."""

    name: str
    title: str
    about: str
    head: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """As Markdown."""
        lines = [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.rows]
        drawn = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"### {self.title}\n\n{self.about}\n\n{drawn}\n"

    def csv(self) -> str:
        """As CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.head, *self.rows])
        return text.getvalue()


def tables(found: Found, settings: list[Setting]) -> list[Table]:
    """All tables for which something was measured."""
    drawn = [
        _times("table1", "Table 1", NUS_WIDE, found),
        _times("table2", "Table 2", MS_COCO, found),
        *(_quality(setting, found) for setting in settings),
        _tuned(found),
        _memory(found),
        _widths(found),
    ]
    return [table for table in drawn if table.rows]


def _times(name: str, title: str, made: Made, found: Found) -> Table:
    bits = found.distinct("n_bits", "time", data=made.name)
    base = {b: found.mean("seconds", "time", data=made.name, method="ohweu-paper", n_bits=b) for b in bits}
    rows = []
    for method in ("ohweu-paper", "ohweu", *RIVALS):
        for as_published in (False, True):
            records = [
                record
                for record in found.of("time", data=made.name, method=method)
                if bool(record["job"]["parameters"].get("as_published")) is as_published
            ]
            if not records:
                continue
            seconds = {record["job"]["n_bits"]: record["values"]["seconds"] for record in records}
            published = PUBLISHED_SECONDS[made.name].get(method, {})
            whole = all(record["values"]["measured whole"] for record in records)
            note = "" if whole else f" ({records[0]['values']['rows']:,} items timed)"
            form = ", as published" if as_published else ""
            row = [METHODS[method].title + form + note]
            for b in bits:
                reference = base[b]
                ratio = f" ({seconds[b] / reference:.3g}×)" if reference else ""
                row.append(f"{as_seconds(seconds[b])}{ratio}")
                row.append(f"{published[b]:,}" if b in published else "")
            rows.append(row)
    about = (
        f"Seconds to train on {made.n:,} items of {made.dim} features, one core, on {made.title} ("
        f"{made.labels_an_item:g} labels an item; time does not depend on what the numbers are). In brackets "
        "the ratio to OHWEU by the paper's letter in the same run. Where fewer items were timed, the time "
        "an item is multiplied up. Beside each: the paper's seconds, on its machine."
    )
    head = ["", *(text for b in bits for text in (f"{b} bits", "paper"))]
    return Table(name, f"{title}: training time, {made.title}", about, head, rows)


def as_seconds(value: float) -> str:
    """Three digits, or whole seconds."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _quality(setting: Setting, found: Found) -> Table:
    bits = found.distinct("n_bits", "stream", data=setting.name)
    rows = []
    for method in METHODS.values():
        of = {b: found.values("mAP", "stream", data=setting.name, method=method.name, n_bits=b) for b in bits}
        if any(len(values) for values in of.values()):
            rows.append([method.title, *(spread(of[b]) for b in bits)])
    some = found.of("stream", data=setting.name)
    size = some[0]["values"]["n"] if some else 0
    queries = some[0]["job"]["protocol"]["queries"] if some else 0
    about = (
        f"mAP over the full ranking of {size:,} items, {queries:,} queries apart, relevant is a shared "
        "label, expected over the order of ties; one pass; mean ± standard deviation over repeats, each with "
        "a division of its own."
    )
    return Table(
        f"mAP-{setting.name}", f"mAP: {setting.title}", about, ["", *(f"{b} bits" for b in bits)], rows
    )


def _tuned(found: Found) -> Table:
    rows = []
    for data in found.distinct("data", "tune"):
        for method in RIVALS:
            records = found.of("tune", data=data, method=method)
            if records:
                best = max(records, key=lambda record: record["values"]["mAP"])
                mAPs = sorted(record["values"]["mAP"] for record in records)
                words = ", ".join(f"{name}={value}" for name, value in best["job"]["parameters"].items())
                rows.append(
                    [
                        METHODS[method].title,
                        data,
                        words,
                        str(len(records)),
                        f"{mAPs[0]:.3f}",
                        f"{mAPs[-1]:.3f}",
                    ]
                )
    about = (
        "Each rival's best of a grid, by mAP on a validation part that is neither in the stream nor among "
        "the queries, at the smallest number of bits."
    )
    head = ["", "data", "chosen", "tried", "worst mAP", "best mAP"]
    return Table("parameters", "How the rivals' parameters were chosen", about, head, rows)


def _memory(found: Found) -> Table:
    rows = []
    some = found.distinct("data", "stream")[:1]
    for data in some:
        bits = found.distinct("n_bits", "stream", data=data)[-1]
        for method in METHODS.values():
            records = found.of("stream", data=data, method=method.name, n_bits=bits)
            if records:
                values = records[0]["values"]
                each = values["refresh"] / values["n"] * 1e6
                rows.append([
                    method.title, f"{values['state bytes'] / 1e6:.2f} MB", f"{values['bytes an item']:,}",
                    "none" if not method.online else f"{each:.3g} µs",
                    f"{values['learning'] / values['n'] * 1e6:.3g} µs",
                ])  # fmt: skip
    about = (
        "What a method keeps for itself, what a refresh must have of every stored item, what the refresh "
        "costs an item (in memory, reading from disk not counted), and what learning costs, on one core; at "
        f"the largest number of bits, on {some[0] if some else ''}."
    )
    head = ["", "state", "bytes an item", "refresh", "learning"]
    return Table("memory", "Memory, refresh and learning", about, head, rows)


def _widths(found: Found) -> Table:
    widths = sorted({record["job"]["protocol"]["width"] for record in found.of("width")})
    rows = []
    for method in ("ohweu-paper", "ohweu", *RIVALS):
        each = {
            record["job"]["protocol"]["width"]: record["values"]["seconds an item"]
            for record in found.of("width", method=method)
        }
        if each:
            rows.append([METHODS[method].title, *(f"{each[w] * 1e6:.3g}" for w in widths if w in each)])
    about = "Microseconds an item to bring a stored code of 64 bits up to date, features in memory, one core."
    head = ["", *(f"{w} features" for w in widths)]
    return Table("widths", "Refresh by the number of features", about, head, rows)
