"""Around every request: whose page it comes from, the headers that browsers go by, and the metrics.

A page somewhere else must not use a visitor's browser to reach a server that listens on the visitor's
machine: requests that name another host, or come from another origin, are refused.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onlinehash.server.metrics import Metrics
from onlinehash.server.problems import answer

_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: http: https:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_MEDIA = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Wraps the app. ``hosts`` are the names that it answers to, None for any."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, hosts: Collection[str] | None, origins: Collection[str]
    ) -> None:
        self._app, self._metrics = app, metrics
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._origins = set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        started, status = time.perf_counter(), 500
        path: str = scope["path"]

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    given.setdefault(name, value)
                given.setdefault("Content-Security-Policy", _MEDIA if path.startswith("/media") else _PAGE)
                if path.startswith("/v1"):
                    given.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(headers, scope["method"])
        try:
            if refusal is not None:
                await answer(403, "AccessError", refusal)(scope, receive, guarded)
            else:
                await self._app(scope, receive, guarded)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.request(scope["method"], route, status, time.perf_counter() - started)

    def _refusal(self, headers: Headers, method: str) -> str | None:
        host = _name(f"//{headers.get('host', '')}")
        if self._hosts is not None and host not in self._hosts:
            return f"Host: this server does not answer to {host!r}; --host-name adds a name"
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") in ("cross-site", "same-site") and method not in ("GET", "HEAD"):
                return "a page of another site may not do this"
        elif origin not in self._origins and urlsplit(origin).netloc != headers.get("host"):
            return f"Origin: pages of {origin} may not use this server; --allow-origin lets them"
        return None


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
