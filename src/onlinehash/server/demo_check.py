"""Does the demo work? Asked over HTTP, as the page asks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from onlinehash.errors import ServerError
from onlinehash.server.demo import NAME, PATH

_PATIENCE = 300  # seconds that the server has to start, and the stream to end
_open = build_opener(ProxyHandler({})).open


def check_demo(url: str, alive: Callable[[], bool]) -> Iterator[str]:
    """Stream everything, and say what was seen; ``ServerError`` where it is not as it should be."""
    index = f"{url}/v1/indexes/{NAME}"
    _until(lambda: _ready(url, alive), "the server to start")
    page = _get(f"{url}/").decode()
    parts = re.findall(r'(?:src|href)="([\w.]+)"', page)
    for part in parts:
        _must(bool(_get(f"{url}/{part}")), f"{part} is empty")
    yield f"the page answers, with {len(parts)} files of its own"
    example = _json(f"{index}/items?limit=1")["items"][0]
    before = [hit["id"] for hit in _like(index, example["id"])]
    _json(f"{url}{PATH}", {"do": "play", "pace": 0})
    state = _until(lambda: _ended(f"{url}{PATH}"), "the stream to end")
    first, last = state["history"][0], state["history"][-1]
    yield f"{state['labelled']} labelled pictures streamed in, generation {last['generation']}"
    yield f"mAP of {first['map']:.3f} before the first label, {last['map']:.3f} now, on pictures held out"
    after = [hit["id"] for hit in _like(index, example["id"])]
    _must(last["map"] > first["map"] + 0.05, "the index has not learnt")
    _must(before != after, "the results are as before")
    stats = _json(index)["stats"]
    others = len(set(after) - set(before))
    yield f"{others} of the {len(after)} nearest of {example['id']} are others than before"
    yield f"the last refresh of {stats['items']} codes took {1000 * stats['seconds']['refresh']:.2f} ms"


def _like(index: str, id: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = _json(f"{index}/search", {"ids": [id], "k": 20})["hits"][0]
    return hits


def _ended(url: str) -> Any:
    state = _json(url)
    return state if state["labelled"] == state["total"] else None


def _ready(url: str, alive: Callable[[], bool]) -> bool:
    _must(alive(), "the server did not start")
    try:
        return bool(_get(f"{url}/readyz"))
    except OSError:
        return False


def _until(look: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise ServerError(f"waited {_PATIENCE} s for {what}")


def _must(held: bool, otherwise: str) -> None:
    if not held:
        raise ServerError(f"the demo does not work: {otherwise}")


def _json(url: str, body: Any = None) -> Any:
    return json.loads(_get(url, None if body is None else json.dumps(body).encode()))


def _get(url: str, data: bytes | None = None) -> bytes:
    asked = Request(url, data, {"Content-Type": "application/json"} if data else {})
    with _open(asked, timeout=60) as answer:
        body: bytes = answer.read()
    return body
