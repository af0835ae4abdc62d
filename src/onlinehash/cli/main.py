"""Where the command line begins: its commands, and what is done with errors."""

from __future__ import annotations

import sys

import typer

from onlinehash import __version__
from onlinehash.cli.paper import paper
from onlinehash.cli.serve import serve
from onlinehash.errors import OnlineHashError

app = typer.Typer(
    name="onlinehash", no_args_is_help=True, pretty_exceptions_enable=False,
    help="A binary similarity index whose codes learn while it serves.",
)  # fmt: skip
app.command()(paper)
app.command()(serve)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Print the version and end.", is_eager=True),
) -> None:
    """What stands before a command."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run; an error that we raise on purpose is one line, and the exit code is 2."""
    try:
        app()
    except OnlineHashError as error:
        typer.echo(f"onlinehash: {error}", err=True)
        sys.exit(2)
