"""Items of an index one after another, for writing them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onlinehash.index.reading import Reading

_PAGE = 1000


def records(
    index: Reading, *, where: Any = None, codes: bool = False, vectors: bool = False
) -> Iterator[dict[str, Any]]:
    """Each item as a dict for JSON: id, labels and payload where it has some.

    ``codes`` adds ``base`` and ``live``, packed, in hexadecimal; ``vectors`` adds those that are
    kept. Without codes these are lines that ``read_jsonl`` reads. A page of items is in memory.
    """
    after: int | None = None
    while True:
        page = index.items(where=where, after=after, limit=_PAGE)
        ids = [item.id for item in page.items]
        packed = index.codes(ids) if codes and ids else None
        for i, item in enumerate(page.items):
            record: dict[str, Any] = {"id": item.id}
            if item.labels:
                record["labels"] = item.labels
            if item.payload is not None:
                record["payload"] = item.payload
            if packed is not None:
                record |= {"base": packed.base[i].tobytes().hex(), "live": packed.live[i].tobytes().hex()}
            if vectors and (whole := index.get(item.id)) is not None and whole.vector is not None:
                record["vector"] = whole.vector
            yield record
        after = page.next
        if after is None:
            return
