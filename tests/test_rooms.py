"""Who may know whom, what an import loads, and whether the picture of the rooms is true."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import onlinehash

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "onlinehash"

# Each room and the rooms that it may import; docs/architecture.md draws the same.
MAY_KNOW = {
    "errors": set(),
    "memory": set(),
    "codes": {"errors", "memory"},
    "labels": {"errors"},
    "targets": {"labels"},
    "kernels": {"errors", "memory", "codes"},
    "hashers": {"errors", "codes", "kernels", "labels", "targets"},
    "metrics": {"errors", "codes", "kernels", "labels"},
    "datasets": {"errors", "labels"},
    "checks": {"errors", "codes"},
    "index": {"errors", "memory", "codes", "labels", "kernels", "hashers"},
    "cluster": {"errors", "codes", "labels", "datasets", "kernels", "hashers", "index"},
    "images": {"errors", "kernels", "index"},
    "paper": {"errors", "codes", "labels", "kernels", "hashers", "metrics", "datasets"},
    "client": {"errors", "codes", "labels", "hashers", "index"},
    "server": {"errors", "codes", "kernels", "labels", "targets", "hashers", "metrics", "index"},
    "cli": {
        "errors",
        "client",
        "cluster",
        "codes",
        "labels",
        "datasets",
        "hashers",
        "index",
        "images",
        "paper",
        "server",
    },
    "__main__": {"cli"},
}


def files() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Rooms that a file imports, wherever in it."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names if name.startswith("onlinehash.")]
    return {part[1] for part in parts} - {"__version__"}


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_points_the_other_way(path: Path) -> None:
    assert imported(path) - {room(path)} <= MAY_KNOW[room(path)]


def test_the_order_of_the_rooms_has_no_circle() -> None:
    known: set[str] = set()
    for name, below in MAY_KNOW.items():
        assert below <= known or name in ("hashers", "metrics", "checks", "kernels", "targets", "index")
        known.add(name)
    assert set(MAY_KNOW) == {room(path) for path in files()}


def test_the_picture_of_the_rooms_is_true() -> None:
    picture = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    drawn = {word for line in picture.splitlines() for word in line.split() if word.endswith(".py")}
    assert drawn == {path.name for path in [*files(), PACKAGE / "__init__.py"]} - {"__init__.py"} | {
        "__init__.py"
    }


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, onlinehash; "
        "heavy = {'numpy', 'numba', 'sklearn', 'scipy', 'safetensors'} & set(sys.modules); "
        "assert not heavy, heavy; onlinehash.OHWEU; assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names() -> None:
    for name in onlinehash.__all__:
        assert getattr(onlinehash, name).__name__ == name
        assert name in dir(onlinehash)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = onlinehash.nothing


def test_the_library_never_prints() -> None:
    for path in files():
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
