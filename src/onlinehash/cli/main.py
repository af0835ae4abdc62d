"""Where the command line begins: its commands, what is done with errors, and exit codes."""

from __future__ import annotations

import sys

import typer

from onlinehash import __version__
from onlinehash.cli import output
from onlinehash.cli.add import add
from onlinehash.cli.backup import backup
from onlinehash.cli.bench import bench
from onlinehash.cli.check import check
from onlinehash.cli.create import create
from onlinehash.cli.delete import delete
from onlinehash.cli.demo import demo
from onlinehash.cli.export import export
from onlinehash.cli.get import get
from onlinehash.cli.info import info
from onlinehash.cli.learn import learn
from onlinehash.cli.paper import paper
from onlinehash.cli.search import search
from onlinehash.cli.serve import serve
from onlinehash.cli.tag import tag
from onlinehash.errors import (
    IndexLockedError,
    MissingExtraError,
    OnlineHashError,
    ServerError,
    StorageError,
    UnknownIdError,
)

_OUTSIDE = (IndexLockedError, StorageError, MissingExtraError, ServerError)
FOUND, REFUSED, SURROUNDINGS = 1, 2, 3
EXIT_CODES = {
    0: "done",
    FOUND: "something is not as asked: `check` found damage, or an id is not in the index",
    REFUSED: "bad usage or bad input; nothing was changed, or the message says what is kept",
    SURROUNDINGS: "not the input's fault: the index is open for writing elsewhere, the disk is full or "
    "fails, a package is not installed",
    130: "interrupted by Ctrl-C; the message says what is kept",
    output.CLOSED_PIPE: "whoever read the output has gone, as `head` does",
}

app = typer.Typer(
    name="onlinehash", no_args_is_help=True, pretty_exceptions_enable=False,
    help="A binary similarity index whose codes learn while it serves.",
)  # fmt: skip
for command in (
    create,
    add,
    learn,
    tag,
    search,
    get,
    delete,
    info,
    check,
    backup,
    export,
    bench,
    serve,
    demo,
    paper,
):
    app.command()(command)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Print the version and end.", is_eager=True),
) -> None:
    """What stands before a command."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run; an error that we raise on purpose, or the system's about a file, is one line."""
    try:
        app()
    except OnlineHashError as error:
        fail(error, exit_code(error))
    except ModuleNotFoundError as error:
        fail(f"this needs {error.name}, which is not installed", SURROUNDINGS)
    except OSError as error:
        fail(error, SURROUNDINGS)


def exit_code(error: OnlineHashError) -> int:
    """Which of ``EXIT_CODES`` an error ends with."""
    if isinstance(error, UnknownIdError):
        return FOUND
    return SURROUNDINGS if isinstance(error, _OUTSIDE) else REFUSED


def fail(error: Exception | str, code: int) -> None:
    """One line on stderr, and the end."""
    said = "; ".join([str(error), *getattr(error, "__notes__", [])])
    output.note(f"onlinehash: {' '.join(said.split())}")
    sys.exit(code)
