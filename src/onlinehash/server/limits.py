"""How much the server takes on. Beyond these it says so, and does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from onlinehash.errors import InvalidInputError, InvalidParameterError

MiB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Each may be set where the server is started; docs/server.md lists them."""

    body: int = 64 * MiB  # bytes of a body in safetensors or Arrow
    json_body: int = 16 * MiB  # in JSON, which takes ten times as much memory once it is read
    bodies: int = 256 * MiB  # bytes of all bodies that are being read or worked on
    rows: int = 100_000  # items of one add, delete, learn or tag
    queries: int = 1000  # of one search
    k: int = 1000
    page: int = 1000  # items of one page
    changes: int = 64  # changes of one index that wait for their turn
    searches: int = 512  # searches of one index that wait for theirs
    listeners: int = 32  # who follow the events of one index
    indexes: int = 100
    dim: int = 8192
    n_bits: int = 1024
    base_bits: int = 4096
    seconds: float = 30  # for a search
    body_seconds: float = 60  # for a body to arrive
    connections: int = 1000

    def check_k(self, k: int, queries: int) -> None:
        """Of a search."""
        if k > self.k:
            raise InvalidParameterError(f"k may be at most {self.k} on this server, got {k}")
        if queries > self.queries:
            raise InvalidInputError(
                f"a search may have at most {self.queries} queries on this server, got {queries}"
            )

    def check_rows(self, n: int) -> None:
        """Of a change."""
        if n > self.rows:
            raise InvalidInputError(
                f"a call may have at most {self.rows} rows on this server, got {n}; make several calls"
            )

    def check_sizes(self, dim: int | None, n_bits: int | None, base_bits: int | str | None) -> None:
        """Of a new index: what it learns grows with their squares."""
        for name, value, most in (
            ("dim", dim, self.dim), ("n_bits", n_bits, self.n_bits), ("base_bits", base_bits, self.base_bits),
        ):  # fmt: skip
            if isinstance(value, int) and value > most:
                raise InvalidParameterError(f"{name} may be at most {most} on this server, got {value}")
