"""An index on a server, with the methods, results and errors of ``Index``."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

import numpy as np
from safetensors.numpy import save

from onlinehash import errors
from onlinehash.codes import n_bytes
from onlinehash.errors import (
    BusyError,
    InvalidParameterError,
    MissingExtraError,
    OnlineHashError,
    ServerError,
)
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.inputs import (
    check_after,
    check_choice,
    check_ids,
    check_k,
    check_payloads,
    check_vectors,
)
from onlinehash.index.reading import SCORES
from onlinehash.index.results import Codes, Hits, Id, Item, Page, Score, Stats
from onlinehash.labels import label_rows

_TENSORS = "application/x-safetensors"


class Client:
    """The index ``name`` of the server at ``url``.

    ``key`` is one of the server's. Where the server has as much to do as it takes on, the client asks
    again for ``patience`` seconds before it raises ``BusyError``. ``timeout`` is how long one answer may
    take. Many threads may use one client.
    """

    def __init__(
        self, url: str, name: str, *, key: str | None = None, patience: float = 30.0, timeout: float = 120.0
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("the client needs httpx: pip install 'onlinehash[client]'") from error
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)
        self._unreachable: type[Exception] = httpx.HTTPError
        self.url, self.name, self._patience = url, name, patience
        self._path = f"/v1/indexes/{quote(name, safe='')}"
        self._settings: Stats | None = None

    @classmethod
    def create(
        cls, url: str, name: str, dim: int | None = None, n_bits: int | None = None, *,
        hasher: OHWEU | None = None, sample: Any = None, keep_vectors: bool = False,
        durability: Literal["full", "normal"] = "full", exist_ok: bool = False, **how: Any,
    ) -> Self:  # fmt: skip
        """Make an index on the server, as ``Index.create`` does; ``how`` is passed to the client.

        ``hasher`` is an ``OHWEU`` for its parameters; one that is fitted stays where it is.
        """
        fields: dict[str, Any] = {
            "dim": dim, "n_bits": n_bits, "keep_vectors": keep_vectors, "durability": durability,
            "exist_ok": exist_ok,
        }  # fmt: skip
        if hasher is not None:
            if not isinstance(hasher, OHWEU) or hasher.initialized_:
                raise InvalidParameterError(f"hasher: expected an OHWEU that is not fitted, got {hasher!r}")
            parameters = hasher.plain_parameters()
            own = parameters.pop("n_bits")
            if n_bits is not None and n_bits != own:
                raise InvalidParameterError(f"n_bits is {n_bits}, but the hasher's is {own}")
            fields |= {"n_bits": own, "parameters": parameters}
        client = cls(url, name, **how)
        try:
            if sample is None:
                client._ask("PUT", "", json=fields)
            else:
                array = np.asarray(sample)
                width = int(array.shape[1]) if array.ndim == 2 else 0
                client._ask("PUT", "", **_tensors(fields, sample=check_vectors(array, width, "sample")))
        except BaseException:
            client.close()
            raise
        return client

    # ---- what is fixed when an index is made

    @property
    def dim(self) -> int:
        """How many features a vector has."""
        return self._fixed().dim

    @property
    def n_bits(self) -> int:
        """How many bits a live code has."""
        return self._fixed().n_bits

    @property
    def keep_vectors(self) -> bool:
        """Whether the index keeps vectors."""
        return self._fixed().keep_vectors

    # ---- items

    def add(
        self, ids: Iterable[Id], vectors: Any, labels: Any = None, payloads: Any = None, *,
        replace: bool = False,
    ) -> None:  # fmt: skip
        """As ``Index.add``."""
        X = check_vectors(vectors, self.dim, keep=self.keep_vectors)
        fields = _item_fields(ids, labels, payloads, len(X), replace)
        self._ask("PUT", "/items", **_tensors(fields, vectors=X))

    def add_codes(
        self, ids: Iterable[Id], codes: Any, labels: Any = None, payloads: Any = None, *,
        replace: bool = False,
    ) -> None:  # fmt: skip
        """As ``Index.add_codes``."""
        packed = np.asarray(codes)
        fields = _item_fields(ids, labels, payloads, len(packed), replace)
        self._ask("PUT", "/items", **_tensors(fields, codes=packed))

    def delete(self, ids: Iterable[Id], *, missing_ok: bool = False) -> int:
        """As ``Index.delete``."""
        fields = {"ids": check_ids(ids), "missing_ok": missing_ok}
        return int(self._ask("POST", "/items/delete", json=fields)["items"])

    def get(self, id: Id) -> Item | None:
        """As ``Index.get``."""
        (found,) = self._ask("POST", "/items/get", json={"ids": check_ids([id])})["items"]
        return None if found is None else Item(**found)

    def items(self, *, where: Any = None, after: int | None = None, limit: int = 100) -> Page:
        """As ``Index.items``."""
        params = {"limit": str(check_k(limit, "limit"))}
        if where is not None:
            params["where"] = json.dumps(where, default=_plain)
        if after is not None:
            params["after"] = str(check_after(after))
        page = self._ask("GET", "/items", params=params)
        return Page([Item(**item) for item in page["items"]], page["next"], page["generation"])

    def codes(self, ids: Iterable[Id]) -> Codes:
        """As ``Index.codes``."""
        found = self._ask("POST", "/items/codes", json={"ids": check_ids(ids)})

        def packed(name: str, n_bits: int) -> Any:
            data = bytes.fromhex("".join(code[name] for code in found["codes"]))
            return np.frombuffer(data, np.uint8).reshape(-1, n_bytes(n_bits))

        base_bits, n_bits = found["n_base_bits"], found["n_bits"]
        base, live = packed("base", base_bits), packed("live", n_bits)
        return Codes(base, live, base_bits, n_bits, found["generation"])

    def __contains__(self, id: object) -> bool:
        try:
            (name,) = check_ids([id])
        except errors.InvalidInputError:
            return False
        return self.get(name) is not None

    def __len__(self) -> int:
        return self.stats().items

    # ---- learning

    def learn(self, vectors: Any, labels: Any, *, wait: bool = True) -> int:
        """As ``Index.learn``: on the server's disk when this returns."""
        X = check_vectors(vectors, self.dim)
        fields = {"labels": label_rows(labels, len(X)).to_lists(), "wait": wait}
        return int(self._ask("POST", "/learn", **_tensors(fields, vectors=X))["generation"])

    def learn_stream(self, chunks: Iterable[tuple[Any, Any]]) -> int:
        """As ``Index.learn_stream``: waits for the refresh of the last only."""
        generation = self.generation
        for vectors, labels in chunks:
            generation = self.learn(vectors, labels, wait=False)
        self.refresh()
        return generation

    def learn_one(self, vector: Any, label: Any) -> Self:
        """As ``Index.learn_one``."""
        self.learn([vector], [label])
        return self

    def tag(self, ids: Iterable[Id], labels: Any, *, keep: bool = True, wait: bool = True) -> int:
        """As ``Index.tag``."""
        names = check_ids(ids)
        of = label_rows(labels, len(names)).to_lists()
        fields = {"ids": names, "labels": of, "keep": keep, "wait": wait}
        return int(self._ask("POST", "/tag", json=fields)["generation"])

    def refresh(self) -> int:
        """As ``Index.refresh``."""
        return int(self._ask("POST", "/refresh")["generation"])

    # ---- finding

    def search(
        self, vectors: Any = None, k: int = 10, *, ids: Iterable[Id] | None = None, where: Any = None,
        score: Score = "asymmetric", rerank: int | None = None, payloads: bool = False,
    ) -> Hits:  # fmt: skip
        """As ``Index.search``."""
        k = check_k(k)
        check_choice(score, SCORES, "score")
        if (vectors is None) == (ids is None):
            raise errors.InvalidInputError("search expects either vectors or ids")
        fields: dict[str, Any] = {
            "k": k, "where": where, "score": score, "rerank": rerank, "payloads": payloads,
        }  # fmt: skip
        if vectors is not None:
            X = check_vectors(vectors, self.dim)
            n, body = len(X), _tensors(fields, vectors=X)
        else:
            assert ids is not None
            names = check_ids(ids)
            n, body = len(names), {"content": _json(fields | {"ids": names}), "headers": _IN_JSON}
        return _hits(self._ask("POST", "/search", **body), n, k, payloads)

    @property
    def generation(self) -> int:
        """As ``Index.generation``."""
        return self.stats().generation

    def stats(self) -> Stats:
        """As ``Index.stats``; ``path`` is the index's name."""
        return Stats(**self._ask("GET", "")["stats"])

    def events(self) -> Generator[dict[str, Any], None, None]:
        """What happens in the index, as it happens: each has its ``event``, docs/server.md the rest."""
        with self._http.stream("GET", f"{self._path}/events", timeout=None) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _error(answer)
            kind = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield {"event": kind} | json.loads(line.removeprefix("data: "))

    def drop(self) -> None:
        """Delete the index on the server, with its files."""
        self._ask("DELETE", "")

    def close(self) -> None:
        """Close the connections. The index stays."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- how it works

    def _fixed(self) -> Stats:
        if self._settings is None:
            self._settings = self.stats()
        return self._settings

    def _ask(self, method: str, route: str, **body: Any) -> dict[str, Any]:
        until = time.monotonic() + self._patience
        while True:
            try:
                answer = self._http.request(method, f"{self._path}{route}", **body)
            except self._unreachable as error:
                raise ServerError(f"{self.url}: {error or type(error).__name__}") from error
            if answer.is_success:
                found: dict[str, Any] = answer.json()
                return found
            problem = _error(answer)
            if not isinstance(problem, BusyError) or time.monotonic() + problem.retry_after > until:
                raise problem
            time.sleep(problem.retry_after)


_IN_JSON = {"Content-Type": "application/json"}


def _tensors(fields: dict[str, Any], **arrays: Any) -> dict[str, Any]:
    """A body in safetensors; the fields that are no arrays go as JSON text."""
    metadata = {name: _json(value) for name, value in fields.items() if value is not None}
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata)
    return {"content": data, "headers": {"Content-Type": _TENSORS}}


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """What filters may hold, and JSON does not."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (set, frozenset, np.ndarray)):
        return list(value)
    raise errors.InvalidInputError(f"expected JSON, got a {type(value).__name__}")


def _item_fields(ids: Any, labels: Any, payloads: Any, n: int, replace: bool) -> dict[str, Any]:
    return {
        "ids": check_ids(ids, n),
        "labels": None if labels is None else label_rows(labels, n).to_lists(),
        "payloads": None if payloads is None else check_payloads(payloads, n),
        "replace": replace,
    }


def _hits(answer: dict[str, Any], n: int, k: int, payloads: bool) -> Hits:
    ids, distances = np.full((n, k), None, object), np.full((n, k), np.inf, np.float32)
    content = np.full((n, k), None, object) if payloads else None
    for q, row in enumerate(answer["hits"]):
        for i, hit in enumerate(row):
            ids[q, i], distances[q, i] = hit["id"], hit["distance"]
            if content is not None:
                content[q, i] = hit["payload"]
    return Hits(ids, distances, answer["generation"], answer["score"], content)


def _error(answer: Any) -> OnlineHashError:
    """The error that a problem names."""
    try:
        problem = answer.json()
        kind, detail = getattr(errors, problem["error"]), problem["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerError(f"{answer.request.url}: {answer.status_code} {answer.text:.200}")
    if kind is BusyError:
        return BusyError(detail, float(answer.headers.get("retry-after", 1)))
    error: OnlineHashError = kind(detail)
    return error
