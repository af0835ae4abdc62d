"""Running the app in uvicorn: where it listens, and how it stops."""

from __future__ import annotations

import gc
import ipaddress
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from threadpoolctl import threadpool_limits

from onlinehash.errors import InvalidParameterError, OnlineHashError, ServerError
from onlinehash.server.state import Parts

_LAST = 10  # seconds that connections have to end when the server stops


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, has_keys: bool) -> socket.socket:
    """A socket to listen at; without a key only on this machine."""
    if not has_keys and not is_loopback(host):
        raise InvalidParameterError(
            f"{host} can be reached from other machines: give keys for writing and reading, "
            "or listen at 127.0.0.1"
        )
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        raise ServerError(f"cannot listen at {host}:{port} ({error})") from error
    return listening


def url_of(listening: socket.socket) -> str:
    """The address to open."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(
    app: FastAPI, log_level: str = "warning", started: Callable[[], None] | None = None
) -> uvicorn.Server:
    """A server that is not running yet: ``run`` runs it, and it stops when ``should_exit`` is set."""
    parts: Parts = app.state.parts
    config = uvicorn.Config(
        app, log_level=log_level, access_log=False, server_header=False, timeout_keep_alive=75,
        timeout_graceful_shutdown=_LAST, limit_concurrency=parts.limits.connections,
        h11_max_incomplete_event_size=64 * 1024, backlog=2048, ws="none",
    )  # fmt: skip
    return _Server(config, parts, started)


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT: then whatever was taken on is done, answered, and closed.

    BLAS gets one thread a call: searches have threads already, and BLAS's own would spin against them.
    """
    try:
        with threadpool_limits(1, user_api="blas"):
            server.run(sockets=[listening])
    except SystemExit:  # uvicorn's, where it has not started
        if server.started:
            raise
    if not server.started:
        if isinstance(server, _Server) and server.failed is not None:
            raise server.failed
        raise ServerError("the server did not start; its log says why")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, parts: Parts, told: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._parts, self._told = parts, told

    @property
    def failed(self) -> OnlineHashError | None:
        """Why it did not start."""
        return self._parts.library.failed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn would show whole tracebacks; what has failed is raised by ``run``
        quiet: Any = lambda record: self._parts.library.failed is None  # noqa: E731
        logging.getLogger("uvicorn.error").addFilter(quiet)
        try:
            await super().startup(sockets)
        finally:
            logging.getLogger("uvicorn.error").removeFilter(quiet)
        if not self.started:
            return
        # what is there now stays: looking through it again took 60 to 90 ms each time, without an answer
        gc.collect()
        gc.freeze()
        if self._told is not None:
            self._told()

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._parts.library.let_listeners_go()  # else uvicorn would wait for streams that never end
        await super().shutdown(sockets)
        gc.unfreeze()
