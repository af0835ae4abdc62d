"""``python -m onlinehash.cli.reference``: docs/cli.md, written anew from the commands themselves.

A command's file has in SHELL what is typed and in PYTHON the same in Python; tests run both.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from onlinehash.cli.main import EXIT_CODES, app

HEAD = """# Command line

Written by `python -m onlinehash.cli.reference`. Each command is the face of a Python call, which stands
beside it; `onlinehash COMMAND --help` says the same as this page.

**Sources.** `add`, `learn` and `search` take the files of [data.md](data.md), or lines of JSON from a
`.jsonl` file or, as `-`, from standard input; all but the vector may be missing:

    {"id": "a7", "vector": [0.5, 1.0], "labels": ["cat"], "payload": {"year": 2020}}

Rows are read a batch at a time; of a file, labels, ids and payload columns are in memory whole, vectors are
not. `add` takes a folder of pictures and `search` a picture, too: [images.md](images.md).

**Ids** come from `--ids`, from the array or column named `id` (or `--id-key`), or are row numbers from 0 on.
On the command line `7` is the number 7, or the text "7" if the index has only that; `'"7"'` is always text.

**Output.** Tables are for people; with `--json` there is JSON on standard output and nothing else. Messages,
and progress where it is a terminal, go to standard error. An error is one line there.

**Interruptions.** Each batch is added or learnt whole and is on the disk before the next begins. Ctrl-C and
errors say how many rows that were, and the `--skip` that goes on after them.

**Completion** in bash, zsh, fish and PowerShell: `onlinehash --install-completion`, once.

| exit code | |
|---|---|
"""
FILES = """
The examples on this page run in this order, on these files:

```python
import numpy as np
from onlinehash import Index

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 128)).astype(np.float32)
Y = np.where(X[:, 0] > 0, "warm", "cold")
queries = X[:3] + 0.1
np.save("features.npy", X)
np.save("labels.npy", Y)
np.save("queries.npy", queries)
```
"""


def text() -> str:
    """The whole page."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return HEAD + codes + FILES + "".join(_command(name, command) for name, command in commands.items())


def module_of(command: Any) -> ModuleType:
    """The file of a command."""
    return sys.modules[command.callback.__module__]


def _command(name: str, command: Any) -> str:
    module = module_of(command)
    parts = [f"\n## {name}\n\n{inspect.cleandoc(command.help or '')}\n"]
    if shell := getattr(module, "SHELL", None):
        parts.append(f"\n```\n{shell.strip()}\n```\n")
    if python := getattr(module, "PYTHON", None):
        parts.append(f"\n```python\n{python.strip()}\n```\n")
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    parts.append("\n| | | default |\n|---|---|---|\n" + "".join(rows))
    return "".join(parts)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    default = parameter.default
    told = (
        default is not None
        and not parameter.required
        and not isinstance(default, bool)
        and not callable(default)
    )
    help = (parameter.help or "").replace("|", "\\|")
    return f"| {name} | {help} | {f'`{default}`' if told else ''} |\n"


if __name__ == "__main__":
    target = Path(__file__).parents[3] / "docs" / "cli.md"
    target.write_text(text())
