"""Examples in docstrings and in the documents run, and say what they say."""

import doctest
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import tables
from benchmarks.beyond import draw

ROOT = Path(__file__).parent.parent
MODULES = [
    str(path.relative_to(ROOT / "src").with_suffix("")).replace("/", ".")
    for path in sorted((ROOT / "src").rglob("*.py"))
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    result = doctest.testmod(import_module(name.removesuffix(".__init__")), raise_on_error=False)
    assert result.failed == 0


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_python_blocks(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL):
        exec(compile(block, document, "exec"), names)


def test_the_readme_example_is_short() -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 14


def test_tables_are_drawn_from_the_measurements() -> None:
    found = json.loads(tables.FIGURES.read_text())
    assert not any(part["quick"] for part in found.values())
    again = "python -m benchmarks.tables draws it again"
    assert (ROOT / "docs" / "measurements.md").read_text() == tables.measurements(found), again
    readme = (ROOT / "README.md").read_text()
    assert readme == tables.with_summary(readme, found), again


def test_tables_and_figures_beyond_the_paper_are_drawn_from_the_measurements() -> None:
    found = json.loads(draw.FOUND.read_text())
    assert not any(part["quick"] for part in found.values())
    again = "python -m benchmarks.beyond --draw draws it again"
    assert draw.DOCUMENT.read_text() == draw.with_tables(draw.DOCUMENT.read_text(), found), again
    for name in found:
        assert (draw.FIGURES / f"{name}.svg").read_text().startswith("<?xml"), again
        assert f"<!-- {name} -->" in draw.DOCUMENT.read_text(), f"docs/quality.md leaves {name} out"
