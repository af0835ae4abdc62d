"""Bodies of every form, whole and broken: what is broken is refused with a 4xx, and nothing changes."""

import json
import random
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save

from onlinehash.server.bodies import ARROW, JSON, SAFETENSORS
from tests.server.conftest import DIM, KINDS, NAMES, Start, X, filled

URL = "/v1/indexes/photos"


@pytest.fixture(scope="module")
def photos(module_start: Start) -> httpx.Client:
    server = module_start().client
    filled(server)
    return server


def send(server: httpx.Client, method: str, route: str, media: str, body: bytes) -> httpx.Response:
    return server.request(method, f"{URL}/{route}", content=body, headers={"Content-Type": media})


def tensors(arrays: dict[str, Any], **fields: Any) -> bytes:
    return bytes(save(arrays, {name: json.dumps(value) for name, value in fields.items()}))


def stream(columns: dict[str, Any], fields: dict[str, Any] | None = None, **options: Any) -> bytes:
    metadata = {name: json.dumps(value) for name, value in (fields or {}).items()}
    table = pa.table(columns).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def matrix(rows: Any) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(rows)), len(rows[0]))


def test_the_three_forms_say_the_same(photos: httpx.Client) -> None:
    asked = {"k": 5, "where": {"row": {"lt": 150}}, "payloads": True}
    queries = X[300:304]
    plain = photos.post(f"{URL}/search", json={"vectors": queries.tolist(), **asked}).json()
    assert send(photos, "POST", "search", SAFETENSORS, tensors({"vectors": queries}, **asked)).json() == plain
    for rows in (matrix(queries), pa.array(list(queries.astype(float)))):
        assert send(photos, "POST", "search", ARROW, stream({"vectors": rows}, asked)).json() == plain
    by_id = {"ids": [3, 4], "vectors": X[:2].tolist()}
    for media, body in (
        (JSON, json.dumps(by_id).encode()),
        (SAFETENSORS, tensors({"vectors": X[:2], "ids": np.array([3, 4])})),
        (SAFETENSORS, tensors({"vectors": X[:2].astype(np.float64)}, ids=[3, 4])),
        (ARROW, stream({"ids": pa.array([3, 4]), "vectors": matrix(X[:2])})),
    ):
        assert send(photos, "PUT", "items", media, body).json()["items"] == 2
        assert photos.post(f"{URL}/items/delete", json={"ids": [3, 4]}).json()["items"] == 2


def test_items_in_arrow(photos: httpx.Client) -> None:
    columns = {
        "ids": ["new 1", "new 2"], "vectors": matrix(X[:2]), "labels": [["a", "b"], []],
        "payloads": ['{"row": 1}', None],
    }  # fmt: skip
    assert send(photos, "PUT", "items", ARROW, stream(columns)).status_code == 200
    found = photos.post(f"{URL}/items/get", json={"ids": ["new 1", "new 2"]}).json()["items"]
    assert [(one["labels"], one["payload"]) for one in found] == [(["a", "b"], {"row": 1}), ([], None)]
    code = photos.get(f"{URL}/items/new 1/code").json()["code"]["base"]
    copied = {"ids": ["copy"], "codes": pa.array([bytes.fromhex(code)], pa.binary(3))}
    assert send(photos, "PUT", "items", ARROW, stream(copied)).status_code == 200
    lesson = stream({"vectors": matrix(X[:2]), "labels": ["a", "b"]}, {"wait": False})
    assert send(photos, "POST", "learn", ARROW, lesson).status_code == 200
    photos.post(f"{URL}/refresh")
    photos.post(f"{URL}/items/delete", json={"ids": ["copy", "new 1", "new 2"]})


GOOD = [[1.0] * DIM]
DEEP = 50_000
HEADER = (2**60).to_bytes(8, "little") + b"{}"
BROKEN: list[tuple[str, bytes]] = [
    (JSON, b""),
    (JSON, b"{"),
    (JSON, b"null"),
    (JSON, b"[]"),
    (JSON, b"\xff\xfe"),
    (JSON, b"[" * DEEP),
    (JSON, b'{"vectors":' * DEEP),
    (JSON, b'{"vectors": [[1]], "where": ' + b'{"$not": ' * 5000 + b"{}" + b"}" * 5001),
    (JSON, json.dumps({"vectors": GOOD, "ids": ["a"], "labels": ["x"], "payloads": [1]}).encode()),
    (JSON, b'{"vectors": [[NaN]], "ids": ["a"], "labels": ["x"]}'),
    (JSON, b'{"vectors": [[1e999]], "ids": ["a"], "labels": ["x"]}'),
    (JSON, json.dumps({"vectors": GOOD, "ids": ["a"], "labels": ["x"]}).replace("1.0", "NaN").encode()),
    (JSON, json.dumps({"vectors": GOOD, "ids": ["a"], "labels": ["x"]}).replace("1.0", "1e39").encode()),
    (JSON, json.dumps({"vectors": GOOD, "ids": [2**63], "labels": ["x"]}).encode()),
    (JSON, b'{"vectors": [[1,1,1,1,1,1,1,1,1,1,1,1]], "ids": ["\\ud800"], "labels": ["x"]}'),
    (JSON, json.dumps({"vectors": GOOD, "k": 10**40, "ids": ["a"], "labels": ["x"]}).encode()),
    ("text/plain", json.dumps({"vectors": GOOD}).encode()),
    ("", json.dumps({"vectors": GOOD}).encode()),
    (SAFETENSORS, b""),
    (SAFETENSORS, b"\0" * 7),
    (SAFETENSORS, HEADER),
    (SAFETENSORS, tensors({"vectors": X[:3]}, ids=NAMES[:3])[:-5]),
    (SAFETENSORS, tensors({"vectors": X[:3], "weights": X[:3]}, ids=NAMES[:3])),
    (SAFETENSORS, tensors({"vectors": np.full((1, DIM), np.nan, np.float32)}, ids=["a"], labels=["x"])),
    (SAFETENSORS, tensors({"vectors": np.full((1, DIM), 1e300)}, ids=["a"], labels=["x"])),
    (SAFETENSORS, tensors({"vectors": X[:1, :3]}, ids=["a"], labels=["x"])),
    (SAFETENSORS, tensors({"vectors": X[0]}, ids=["a"], labels=["x"])),
    (SAFETENSORS, tensors({"vectors": X[:1], "ids": np.zeros((1, 1), np.int64)}, labels=["x"])),
    (SAFETENSORS, tensors({"vectors": X[:1], "ids": np.zeros(1)}, labels=["x"])),
    (SAFETENSORS, tensors({"ids": np.zeros(1, np.int64)}, labels=["x"], k=[1])),
    (SAFETENSORS, bytes(save({"vectors": X[:1]}, {"ids": "[" * DEEP, "labels": '["x"]'}))),
    (SAFETENSORS, bytes(save({"vectors": X[:1]}, {"ids": "not JSON", "labels": '["x"]'}))),
    (ARROW, b""),
    (ARROW, b"ARROW1\0\0"),
    (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\x7f" * 20),
    (ARROW, stream({"ids": ["a"], "vectors": matrix(X[:1]), "labels": ["x"]})[:-40]),
    (ARROW, stream({"ids": ["a"], "vectors": matrix(X[:1, :3]), "labels": ["x"]})),
    (ARROW, stream({"ids": [1.5], "vectors": matrix(X[:1]), "labels": ["x"]})),
    (ARROW, stream({"ids": ["a", "b"], "vectors": pa.array([[1.0], [1.0, 2.0]]), "labels": ["x", "y"]})),
    (ARROW, stream({"ids": ["a", "b"], "vectors": pa.array([[1.0] * DIM, None]), "labels": ["x", "y"]})),
    (ARROW, stream({"ids": ["a"], "vectors": matrix(X[:1]), "labels": ["x"], "other": [1]})),
    (ARROW, stream({"ids": pa.nulls(5), "vectors": pa.nulls(5)})),
    (ARROW, stream({"ids": ["a"], "vectors": matrix(X[:1]), "payloads": ["{"], "labels": ["x"]})),
    (ARROW, stream({"ids": ["a"] * 9, "vectors": matrix(X[:9])}, compression="zstd")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_what_is_broken_is_refused(photos: httpx.Client, number: int) -> None:
    media, body = BROKEN[number]
    before = photos.get(URL).json()
    for method, route in (("PUT", "items"), ("POST", "learn"), ("POST", "search")):
        answer = send(photos, method, route, media, body)
        assert 400 <= answer.status_code < 500, (route, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
    assert photos.get(URL).json() == before


@pytest.mark.parametrize("media", [JSON, SAFETENSORS, ARROW])
def test_bytes_changed_at_random_never_make_the_server_fail(photos: httpx.Client, media: str) -> None:
    """What is still good is taken, what is not leaves all as it is."""
    good = {
        JSON: json.dumps({"ids": NAMES[:4], "vectors": X[:4].tolist(), "labels": KINDS[:4]}).encode(),
        SAFETENSORS: tensors({"vectors": X[:4]}, ids=NAMES[:4], labels=KINDS[:4]),
        ARROW: stream({"ids": NAMES[:4], "vectors": matrix(X[:4]), "labels": KINDS[:4]}),
    }[media]
    draw, refused = random.Random(0), 0
    for _ in range(150):
        body = bytearray(good[: draw.randrange(len(good))] if draw.random() < 0.3 else good)
        for _ in range(draw.randrange(1, 6)):
            if body:
                body[draw.randrange(len(body))] = draw.randrange(256)
        before = photos.get(URL).json()
        answer = send(photos, "PUT", "items", media, bytes(body))
        assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
        if answer.status_code != 200:
            refused += 1
            assert photos.get(URL).json() == before
    assert refused > 20
    assert photos.get("/healthz").status_code == 200


def test_a_body_that_does_not_say_how_long_it_is(photos: httpx.Client) -> None:
    def parts() -> Any:
        yield b'{"vectors": [['
        yield ",".join(["0.5"] * DIM).encode()
        yield b"]]}"

    headers = {"Content-Type": JSON}
    assert photos.post(f"{URL}/search", content=parts(), headers=headers).status_code == 200
