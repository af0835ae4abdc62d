"""Who may do what, from where, and that nothing outside the folder is ever touched."""

from pathlib import Path

import httpx
import pytest

from onlinehash.errors import InvalidParameterError
from onlinehash.server.keys import Keys, read_keys
from onlinehash.server.run import bind, is_loopback
from tests.server.conftest import Start, X, filled

URL = "/v1/indexes/photos"
READ, WRITE = "read-" + "r" * 20, "write-" + "w" * 20
ONE = {"vectors": X[:1].tolist()}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_keys_for_reading_and_for_writing(start: Start) -> None:
    server = start(keys=Keys([READ], [WRITE])).client
    filled(server, headers=bearer(WRITE))
    reads = [("GET", "/v1/indexes", None), ("GET", URL, None), ("POST", f"{URL}/search", ONE),
             ("GET", f"{URL}/items", None), ("GET", f"{URL}/items/1.jpg/code", None),
             ("POST", f"{URL}/items/get", {"ids": ["1.jpg"]}), ("GET", "/metrics", None)]  # fmt: skip
    writes = [("PUT", f"{URL}/items", {"ids": ["x"], **ONE}),
              ("POST", f"{URL}/learn", {**ONE, "labels": ["a"]}),
              ("POST", f"{URL}/tag", {"ids": ["1.jpg"], "labels": ["a"]}), ("POST", f"{URL}/refresh", None),
              ("POST", f"{URL}/items/delete", {"ids": ["x"]}), ("PUT", "/v1/indexes/b", {"dim": 2}),
              ("DELETE", "/v1/indexes/b", None)]  # fmt: skip
    for method, url, body in reads + writes:
        missing = server.request(method, url, json=body)
        assert (missing.status_code, missing.headers["www-authenticate"]) == (401, "Bearer"), url
        assert server.request(method, url, json=body, headers=bearer("x" * 25)).status_code == 401
        assert server.request(method, url, json=body, headers={"Authorization": WRITE}).status_code == 401
    before = server.get(URL, headers=bearer(READ)).json()
    for method, url, body in writes:
        refused = server.request(method, url, json=body, headers=bearer(READ))
        assert (refused.status_code, refused.json()["error"]) == (403, "AccessError"), url
    assert server.get(URL, headers=bearer(READ)).json() == before
    for method, url, body in reads:
        assert server.request(method, url, json=body, headers=bearer(READ)).status_code == 200, url
    for method, url, body in reads + writes:
        assert server.request(method, url, json=body, headers=bearer(WRITE)).status_code in (200, 201), url
    assert server.get(f"{URL}/events").status_code == 401
    for open_to_all in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert server.get(open_to_all).status_code == 200
    assert server.get("/v1/indexes/none").status_code == 401, "nor is it told what there is"


def test_keys_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\nread {READ}\n\nwrite {WRITE}\n")
    assert read_keys(file) == ([READ], [WRITE])
    for text in ("read\n", "admin abc\n", f"{READ}\n"):
        file.write_text(text)
        with pytest.raises(InvalidParameterError, match="line 1"):
            read_keys(file)
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        read_keys(tmp_path / "none")
    for key in ("short", "with spaces in it, alas", "nön-äscii-nön-äscii"):
        with pytest.raises(InvalidParameterError, match="16 characters"):
            Keys([key])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_without_keys_it_listens_on_this_machine_only(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(InvalidParameterError, match="give keys"):
        bind(host, 0, has_keys=False)
    assert all(is_loopback(name) for name in ("127.0.0.1", "127.8.8.8", "::1", "localhost"))


NAMES_THAT_ARE_NONE = [
    "..", "%2e%2e", "..%2f..%2fetc", "a%2fb", "a%00b", ".hidden", "-rf", "a.b", "a b", "a" * 65, "é", "a%0a",
    "%5c", "~",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_THAT_ARE_NONE)
def test_names_stay_within_the_folder(start: Start, tmp_path: Path, name: str) -> None:
    running = start("deep/down")
    outside = tmp_path / "deep" / "secret.oh"
    outside.write_text("secret")
    before = sorted(tmp_path.rglob("*"))
    for method in ("GET", "PUT", "DELETE"):
        request = running.client.build_request(method, f"/v1/indexes/{name}", json={"dim": 2})
        answer = running.client.send(request)
        assert answer.status_code in (404, 405, 422), (method, answer.text)
        assert "secret" not in answer.text
    assert sorted(tmp_path.rglob("*")) == before


def test_pages_of_other_sites_may_not_use_it(start: Start) -> None:
    server = start().client
    filled(server)
    for headers in (
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"}, {"Host": "evil.example:8080"}, {"Host": ""},
    ):  # fmt: skip
        refused = server.post(f"{URL}/refresh", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (403, "AccessError"), headers
    own = str(server.base_url).rstrip("/")
    assert server.post(f"{URL}/refresh", headers={"Origin": own}).status_code == 200
    assert server.post(f"{URL}/refresh", headers={"Host": "localhost:1234"}).status_code == 200
    simple = server.post(f"{URL}/search", content=b"{}", headers={"Content-Type": "text/plain"})
    assert simple.status_code == 415, "what a form could send"
    answer = server.get(URL)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_origins_that_were_asked_for(start: Start) -> None:
    server = start(origins=["https://friend.example"]).client
    friend = {"Origin": "https://friend.example"}
    assert (
        server.get("/v1/indexes", headers=friend).headers["access-control-allow-origin"] == friend["Origin"]
    )
    asked = {**friend, "Access-Control-Request-Method": "PUT"}
    assert server.options("/v1/indexes/a", headers=asked).status_code == 200
    assert server.get("/v1/indexes", headers={"Origin": "https://evil.example"}).status_code == 403


def test_headers_that_browsers_go_by(server: httpx.Client) -> None:
    for path in ("/", "/v1/indexes", "/v1/none", "/healthz"):
        headers = server.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert server.get("/v1/indexes").headers["cache-control"] == "no-store"


def test_media(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    server = start(media=folder, keys=Keys([READ])).client
    assert server.get("/media/a.svg").status_code == 401
    answer = server.get("/media/a.svg", headers=bearer(READ))
    assert answer.status_code == 200
    assert "sandbox" in answer.headers["content-security-policy"]
    for path in (
        "/media/../secret",
        "/media/%2e%2e/secret",
        "/media/..%2fsecret",
        "/media/link",
        "/media/none",
    ):
        refused = server.get(path, headers=bearer(READ))
        assert refused.status_code == 404
        assert refused.headers["content-type"] == "application/problem+json"


def test_a_folder_is_served_once(start: Start, tmp_path: Path) -> None:
    from onlinehash.errors import IndexLockedError
    from onlinehash.server.library import Library
    from onlinehash.server.limits import Limits

    start()
    with pytest.raises(IndexLockedError, match="served by another process"):
        Library(tmp_path / "indexes", Limits()).open(None)  # type: ignore[arg-type]
