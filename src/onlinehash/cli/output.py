"""What a command says: tables for people or JSON for programs on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

CLOSED_PIPE = 141  # as a shell says of a program that wrote to a pipe that nobody reads
_WIDE = 160  # columns where nobody has said how many there are


def write(text: str) -> None:
    """To stdout, at once; ends the command quietly where nobody reads any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
        raise typer.Exit(CLOSED_PIPE) from None


def hush() -> None:
    """Stdout leads nowhere from now on, so that nothing fails when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_json(value: Any) -> None:
    """One line of JSON."""
    write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def show(what: RenderableType) -> None:
    """A table or a text for people."""
    console = Console(width=None if sys.stdout.isatty() else _WIDE)
    with console.capture() as captured:
        console.print(what, markup=False, highlight=False)
    write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")


def table(*columns: str) -> Table:
    """A plain table; columns whose name begins with ">" are numbers."""
    made = Table(box=None, pad_edge=False)
    for name in columns:
        made.add_column(
            name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold"
        )
    return made


def facts(pairs: dict[str, str]) -> Table:
    """Names and values, one pair a line."""
    made = Table(box=None, show_header=False, pad_edge=False)
    for name, value in pairs.items():
        made.add_row(name, Text(value, overflow="fold"))
    return made


def brief(value: Any, most: int = 60) -> str:
    """JSON that fits a table."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


def note(text: str) -> None:
    """A line on stderr."""
    typer.echo(text, err=True)
