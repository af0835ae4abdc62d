"""Long work: a bar with its rate on stderr, and what is kept when it ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from onlinehash.cli.output import note
from onlinehash.errors import OnlineHashError

INTERRUPTED = 130  # as a shell says of a program that Ctrl-C ended


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


class Advance:
    """How far the work has come."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task
        self.done = 0

    def __call__(self, n: int) -> None:
        """So many more."""
        self.done += n
        self._bar.advance(self._task, n)

    def to(self, done: int, total: int) -> None:
        """So many of so many."""
        self.done = done
        self._bar.update(self._task, completed=done, total=total)


@contextmanager
def progress(doing: str, total: int | None, go_on: Callable[[int], str] | None = None) -> Iterator[Advance]:
    """Gives what is called with how many rows have been done since, or ``to`` how many of how many.

    ``go_on`` says what holds after so many rows, where Ctrl-C or an error ends the work before its end.
    """
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        advance = Advance(bar, bar.add_task(doing, total=total))
        try:
            yield advance
        except KeyboardInterrupt:
            bar.stop()
            note(f"interrupted{'' if go_on is None else ': ' + go_on(advance.done)}")
            raise typer.Exit(INTERRUPTED) from None
        except OnlineHashError as error:
            if advance.done and go_on is not None:
                error.add_note(go_on(advance.done))
            raise
