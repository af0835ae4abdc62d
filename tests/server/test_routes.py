"""What can be asked of the server, and that it is what the index answers."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from onlinehash import Index
from tests.server.conftest import DIM, KINDS, NAMES, Start, X, filled

URL = "/v1/indexes/photos"


def problem(answer: Any, status: int, error: str, *words: str) -> None:
    """It is that problem, and its detail has these words."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["status"], found["error"]) == (status, error)
    assert all(word in found["detail"] for word in words), found["detail"]


def test_an_index_from_its_making_to_its_end(server: httpx.Client, tmp_path: Path) -> None:
    made = server.put(URL, json={"dim": 4, "n_bits": 8, "parameters": {"n_init": 20}})
    assert made.status_code == 201
    assert made.json()["stats"]["dim"] == 4
    assert (tmp_path / "indexes" / "photos.oh").is_file()
    problem(server.put(URL, json={"dim": 4}), 409, "InvalidParameterError", "photos")
    assert server.put(URL, json={"dim": 4, "n_bits": 8, "exist_ok": True}).status_code == 200
    problem(server.put(URL, json={"dim": 5, "n_bits": 8, "exist_ok": True}), 422, "InvalidParameterError")
    listed = server.get("/v1/indexes").json()["indexes"]
    assert [(one["name"], one["items"], one["dim"]) for one in listed] == [("photos", 0, 4)]
    assert server.delete(URL).json() == {"deleted": "photos"}
    assert [path.name for path in (tmp_path / "indexes").glob("photos*")] == []
    problem(server.get(URL), 404, "IndexFileError", "photos")
    problem(server.delete(URL), 404, "IndexFileError")


def test_a_search_is_what_the_file_answers(start: Start, tmp_path: Path) -> None:
    running = start()
    server = running.client
    filled(server)
    asked: list[dict[str, Any]] = [
        {"vectors": X[300:303].tolist(), "k": 7},
        {"vectors": X[300:301].tolist(), "score": "hamming", "payloads": True},
        {"ids": NAMES[3:5], "k": 4, "where": {"$labels": "left"}},
    ]
    answers = [server.post(f"{URL}/search", json=one).json() for one in asked]
    running.stop()
    with Index.open(tmp_path / "indexes" / "photos.oh") as index:
        for one, answer in zip(asked, answers, strict=True):
            assert answer == index.search(**one).to_dict()


def test_items(photos: httpx.Client) -> None:
    assert photos.get(f"{URL}/items/3.jpg").json()["item"] == {
        "id": "3.jpg", "payload": {"row": 3}, "labels": KINDS[3], "vector": None,
    }  # fmt: skip
    again = photos.put(f"{URL}/items", json={"ids": ["3.jpg"], "vectors": X[:1].tolist()})
    assert again.json() == {"items": 1, "generation": 2}
    assert photos.get(f"{URL}/items/3.jpg").json()["item"]["payload"] is None
    known = {"ids": ["3.jpg"], "vectors": X[:1].tolist(), "replace": False}
    problem(photos.put(f"{URL}/items", json=known), 422, "InvalidInputError", "3.jpg")
    assert photos.post(f"{URL}/items/delete", json={"ids": ["3.jpg", "4.jpg"]}).json()["items"] == 2
    problem(photos.get(f"{URL}/items/3.jpg"), 404, "UnknownIdError", "3.jpg")
    problem(photos.post(f"{URL}/items/delete", json={"ids": ["3.jpg"]}), 404, "UnknownIdError")
    lax = photos.post(f"{URL}/items/delete", json={"ids": ["3.jpg"], "missing_ok": True})
    assert lax.json()["items"] == 0
    got = photos.post(f"{URL}/items/get", json={"ids": ["5.jpg", "3.jpg"]}).json()["items"]
    assert got[0]["payload"] == {"row": 5}
    assert got[1] is None


def test_ids_in_a_path_are_texts_first_then_numbers(photos: httpx.Client) -> None:
    ids = [7, "7", 8, "a/b", -1]
    photos.put(f"{URL}/items", json={"ids": ids, "vectors": X[:5].tolist()})
    for path, id in (("7", "7"), ("7?type=int", 7), ("8", 8), ("a/b", "a/b"), ("a%2Fb", "a/b"), ("-1", -1)):
        assert photos.get(f"{URL}/items/{path}").json()["item"]["id"] == id
    problem(photos.get(f"{URL}/items/8?type=str"), 404, "UnknownIdError")
    assert photos.get(f"{URL}/items/8/code").json()["code"]["id"] == 8


def test_pages(photos: httpx.Client) -> None:
    first = photos.get(f"{URL}/items", params={"limit": 60, "where": '{"row": {"gte": 100}}'}).json()
    assert [item["payload"]["row"] for item in first["items"]] == list(range(100, 160))
    rest = photos.get(
        f"{URL}/items", params={"where": '{"row": {"gte": 100}}', "after": first["next"]}
    ).json()
    assert [item["payload"]["row"] for item in rest["items"]] == list(range(160, 200))
    assert rest["next"] is None
    problem(photos.get(f"{URL}/items", params={"where": "{"}), 422, "InvalidInputError", "where")
    problem(photos.get(f"{URL}/items", params={"limit": 10**6}), 422, "InvalidInputError", "limit")


def test_codes(photos: httpx.Client, tmp_path: Path) -> None:
    found = photos.get(f"{URL}/items/0.jpg/code").json()
    code = found["code"]
    assert found["generation"] == 2
    assert (len(code["base_bits"]), len(code["live_bits"])) == (24, 16)
    assert int(code["base"], 16) == int(code["base_bits"], 2)
    many = photos.post(f"{URL}/items/codes", json={"ids": NAMES[:3]}).json()
    assert many["codes"][0] == code
    copied = {"ids": ["copy"], "codes": [code["base"]]}
    assert photos.put(f"{URL}/items", json=copied).status_code == 200
    assert photos.get(f"{URL}/items/copy/code").json()["code"]["live"] == code["live"]


def test_learning_is_served_when_it_answers(photos: httpx.Client) -> None:
    before = photos.get(URL).json()
    lesson = {"vectors": X[300:340].tolist(), "labels": KINDS[300:340]}
    assert photos.post(f"{URL}/learn", json=lesson).json() == {"generation": 3, "served": 3}
    tagged = photos.post(f"{URL}/tag", json={"ids": NAMES[:2], "labels": ["favourite", ["x", "y"]]})
    assert tagged.json() == {"generation": 4, "served": 4}
    stats = photos.get(URL).json()["stats"]
    assert stats["learnt"] == before["stats"]["learnt"] + 42
    assert stats["pending"] == 0
    item = photos.get(f"{URL}/items/0.jpg").json()["item"]
    assert item["labels"] == [*KINDS[0], "favourite"]
    later = photos.post(f"{URL}/learn", json=lesson | {"wait": False}).json()
    assert later["generation"] == 5
    assert photos.post(f"{URL}/refresh").json() == {"generation": 5}


def test_lists_of_0_and_1_are_labels_in_json(photos: httpx.Client) -> None:
    lesson = {"vectors": X[:2].tolist(), "labels": [[0, 1], [1, 0]]}
    assert photos.post(f"{URL}/learn", json=lesson).status_code == 200
    assert photos.get(URL).json()["stats"]["labels"] == 4 + 2


@pytest.fixture(scope="module")
def unchanged(module_start: Start) -> httpx.Client:
    server = module_start().client
    filled(server)
    return server


@pytest.mark.parametrize(
    ("route", "body", "status", "words"),
    [
        ("search", {"vectors": [[1.0]]}, 422, f"expected numbers of shape (n, {DIM}); got shape (1, 1)"),
        ("search", {}, 422, "either vectors or ids"),
        ("search", {"vectors": [[1.0] * DIM], "ids": ["0.jpg"]}, 422, "either vectors or ids"),
        ("search", {"vectors": [[1.0] * DIM], "k": 0}, 422, "k: expected greater than or equal to 1, got 0"),
        ("search", {"vectors": [[1.0] * DIM], "k": 10**9}, 422, "k may be at most 1000"),
        ("search", {"vectors": [[1.0] * DIM], "k": "5"}, 422, "k: expected a valid integer, got '5'"),
        ("search", {"vectors": [[1.0] * DIM], "nearest": 5}, 422, "nearest"),
        ("search", {"vectors": [[1.0] * DIM] * 1001}, 422, "at most 1000 queries"),
        ("search", {"vectors": [[1.0] * DIM], "where": {"a": {"near": 1}}}, 422, "'near' is no operator"),
        ("search", {"vectors": [[1.0], [1.0, 2.0]]}, 422, "rows of different lengths"),
        ("search", {"vectors": [["1"] * DIM]}, 422, "vectors[0][0]: expected a valid number, got '1'"),
        ("search", {"vectors": [[1e39] * DIM]}, 422, "beyond float32"),
        ("search", {"vectors": [[1.0] * DIM], "rerank": 5}, 422, "keep_vectors"),
        ("search", {"ids": ["nobody"]}, 404, "nobody"),
        ("learn", {"vectors": [[1.0] * DIM], "labels": []}, 422, "expected 1 rows"),
        ("learn", {"vectors": [[1.0] * DIM], "labels": [1.5]}, 422, "labels[0]"),
        ("tag", {"ids": ["nobody"], "labels": ["x"]}, 404, "nobody"),
        ("items/codes", {"ids": [True]}, 422, "ids[0]"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_was_expected(
    unchanged: httpx.Client, route: str, body: Any, status: int, words: str
) -> None:
    before = unchanged.get(URL).json()
    answer = unchanged.post(f"{URL}/{route}", json=body)
    problem(answer, status, answer.json()["error"], words)
    assert unchanged.get(URL).json() == before


def test_what_is_not_there(server: httpx.Client) -> None:
    problem(server.get("/v1/nothing"), 404, "ServerError")
    problem(server.patch("/v1/indexes"), 405, "ServerError")
    assert server.patch(URL).headers["allow"] == "DELETE, GET, PUT"
    assert server.patch(f"{URL}/items").headers["allow"] == "GET, PUT"
    assert server.get(f"{URL}/search").headers["allow"] == "POST"
    problem(server.post("/v1/indexes/photos/search", json={"vectors": [[1]]}), 404, "IndexFileError")


def test_service(photos: httpx.Client) -> None:
    assert photos.get("/healthz").json()["status"] == "ok"
    assert photos.get("/readyz").json()["status"] == "ok"
    photos.post(f"{URL}/search", json={"vectors": X[:3].tolist()})
    text = photos.get("/metrics").text
    assert 'onlinehash_index_items{index="photos"} 200.0' in text
    assert 'onlinehash_index_queries_total{index="photos"} 3.0' in text
    route = 'route="/v1/indexes/{name}/search"'
    assert f'onlinehash_requests_total{{method="POST",{route},status="200"}} 1.0' in text


def test_a_damaged_index_does_not_stop_the_others(start: Start, tmp_path: Path) -> None:
    first = start()
    filled(first.client)
    first.stop()
    (tmp_path / "indexes" / "broken.oh").write_bytes(b"no index" * 1000)
    (tmp_path / "indexes" / "no name.oh").write_bytes(b"")
    server = start().client
    assert server.get(f"{URL}/items/1.jpg").status_code == 200
    problem(server.get("/v1/indexes/broken"), 503, "IndexFileError", "broken")
    problem(server.get("/readyz"), 503, "IndexFileError")
    problem(server.put("/v1/indexes/broken", json={"dim": 3}), 409, "InvalidParameterError")
    listed = {one["name"]: one.get("problem") for one in server.get("/v1/indexes").json()["indexes"]}
    assert set(listed) == {"photos", "broken"}
    assert str(tmp_path) not in str(listed)


def test_before_initialisation(server: httpx.Client) -> None:
    server.put(URL, json={"dim": DIM, "n_bits": 16})
    server.put(f"{URL}/items", json={"ids": NAMES[:5], "vectors": X[:5].tolist()})
    hits = server.post(f"{URL}/search", json={"vectors": X[:1].tolist(), "k": 1}).json()
    assert (hits["hits"][0][0]["id"], hits["generation"], hits["score"]) == ("0.jpg", 0, "cosine")
    problem(server.get(f"{URL}/items/0.jpg/code"), 409, "NotInitializedError")
    assert server.get(f"{URL}/items/0.jpg").json()["item"]["vector"] == pytest.approx(X[0].tolist())
    assert server.post(f"{URL}/learn", json={"vectors": X[:2].tolist(), "labels": ["a", "b"]}).json() == {
        "generation": server.get(URL).json()["generation"] + 1, "served": 0,
    }  # fmt: skip


def test_searches_that_go_together_answer_as_alone(photos: httpx.Client) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def ask(row: int) -> Any:
        body = {"vectors": X[row : row + 1].tolist(), "k": 5, "score": "hamming", "where": None}
        return photos.post(f"{URL}/search", json=body).json()

    alone = [ask(row) for row in range(100)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(100))) == alone
    bad = {"vectors": np.zeros((1, DIM)).tolist(), "k": 5, "where": {"$x": 1}}
    problem(photos.post(f"{URL}/search", json=bad), 422, "InvalidInputError")
