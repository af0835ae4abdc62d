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


@contextmanager
def progress(
    doing: str, total: int | None, go_on: Callable[[int], str] | None = None
) -> Iterator[Callable[[int], None]]:
    """Gives the function to call with how many rows have been done since.

    ``go_on`` says what holds after so many rows, where Ctrl-C or an error ends the work before its end.
    """
    done = 0
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=total)

        def advance(n: int) -> None:
            nonlocal done
            done += n
            bar.advance(task, n)

        try:
            yield advance
        except KeyboardInterrupt:
            bar.stop()
            note(f"interrupted{'' if go_on is None else ': ' + go_on(done)}")
            raise typer.Exit(INTERRUPTED) from None
        except OnlineHashError as error:
            if done and go_on is not None:
                error.add_note(go_on(done))
            raise
