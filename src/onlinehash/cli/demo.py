"""``onlinehash demo``: an index of handwritten digits, a page, and labels that stream in."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from onlinehash.errors import MissingExtraError, ServerError

SHELL = """onlinehash demo
onlinehash demo --check"""

_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; a free one where this one is taken.")]
_Open = Annotated[
    bool, typer.Option("--open/--no-open", help="Open the page in a browser, if there is a screen.")
]
_Check = Annotated[
    bool | None,
    typer.Option(
        "--check/--stay",
        help="Stream everything, check what the page and the API answer, and end. Without either, this is "
        "done where CI is set or nobody reads the output at a terminal.",
    ),
]

_TRY = """
  Click a digit                its nearest neighbours appear; while labels stream in, they re-order
  Tick some, give them a tag   the index learns, and every stored code follows
  Pause, Step, Speed           the labels come as you like
  Look at Code                 which bits learning turns over

Ctrl-C ends it; nothing is kept."""


def demo(port: _Port = 8080, open_page: _Open = True, check: _Check = None) -> None:
    """Serve an index of handwritten digits, and watch it learn while labels stream in."""
    try:
        from onlinehash.server.demo import make_demo
        from onlinehash.server.run import bind, make_server, run, url_of
    except ImportError as error:
        raise MissingExtraError(f"the demo needs {error.name}: pip install 'onlinehash[demo]'") from error

    if check is None:
        check = bool(os.environ.get("CI")) or not sys.stdout.isatty()
    with TemporaryDirectory(prefix="onlinehash-demo-") as folder:
        listening = _bind(bind, 0 if check else port)
        url = url_of(listening)
        app = make_demo(Path(folder))
        if check:
            _checked(make_server, app, listening, url)
            return

        def started() -> None:
            typer.echo(f"1,797 handwritten digits are served at {url}\n{_TRY}")
            if open_page and _has_screen():
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

        with suppress(KeyboardInterrupt):  # the way to end it
            run(make_server(app, started=started), listening)


def _bind(bind: Any, port: int) -> socket.socket:
    try:
        return bind("127.0.0.1", port, False)  # type: ignore[no-any-return]
    except ServerError:
        return bind("127.0.0.1", 0, False)  # type: ignore[no-any-return]


def _has_screen() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _checked(make_server: Any, app: Any, listening: socket.socket, url: str) -> None:
    from onlinehash.server.demo_check import check_demo

    server = make_server(app)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        for line in check_demo(url, thread.is_alive):
            typer.echo(line)
    finally:
        server.should_exit = True
        thread.join()
