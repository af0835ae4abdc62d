"""``python -m benchmarks.reproduction DIR [DIR …]``: ``onlinehash paper``'s results in docs/reproduction.md.

What stands between ``<!-- name -->`` and ``<!-- end -->`` there is drawn again: the table of that name,
or the figure, copied beside the document, from the first of the folders that has one. The words
around it are written by hand.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "reproduction.md"
PICTURES = DOCUMENT.parent / "reproduction"
_MARKED = re.compile(r"(<!-- (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(folders: list[Path]) -> None:
    """Draw the document again."""

    def drawn(mark: re.Match[str]) -> str:
        return f"{mark[1]}{_found(mark['name'], folders)}\n{mark[3]}"

    DOCUMENT.write_text(_MARKED.sub(drawn, DOCUMENT.read_text()))


def _found(name: str, folders: list[Path]) -> str:
    if name == "cost":
        return _cost(folders[0])
    if name == "claims":
        claims = [folder / "claims.md" for folder in folders]
        return "".join(path.read_text() for path in claims if path.exists()).strip()
    for folder in folders:
        if (folder / f"{name}.md").exists():
            return (folder / f"{name}.md").read_text().strip()
        if (folder / f"{name}.svg").exists():
            PICTURES.mkdir(exist_ok=True)
            shutil.copy(folder / f"{name}.svg", PICTURES)
            return f"![{name}]({PICTURES.name}/{name}.svg)"
    sys.exit(
        f"none of {', '.join(map(str, folders))} has {name}.md or {name}.svg: run onlinehash paper first"
    )


def _cost(folder: Path) -> str:
    """Minutes on one core by kind of measurement."""
    took: dict[str, list[float]] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        took.setdefault(record["job"]["kind"], []).append(record["took"])
    rows = [f"| {kind} | {len(seconds)} | {sum(seconds) / 60:.1f} |" for kind, seconds in took.items()]
    return "\n".join(
        ["| kind of measurement | how many | minutes on one core |", "| --- | ---: | ---: |", *rows]
    )


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
