"""Folders into an index: what is new, what has changed, what cannot be used, and going on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from onlinehash import Index, InvalidInputError, InvalidParameterError
from onlinehash.cli.main import app
from onlinehash.images import Embedder, add_folder
from onlinehash.images.find import find
from tests.images.conftest import DIM, picture, tiny_model


@pytest.fixture
def index() -> Iterator[Index]:
    with Index.create(":memory:", dim=DIM, n_bits=8) as made:
        yield made


def test_pictures_are_found_in_an_order_that_mixes_folders(album: Path) -> None:
    (album / "readme.txt").write_text("no picture")
    picture(album / ".hidden" / "a.jpg", 1)
    picture(album / ".b.jpg", 1)
    (album / "gone.jpg").symlink_to(album / "nothing.jpg")
    os.mkfifo(album / "pipe.jpg")
    found, skipped = find(album)
    ids = [one.id for one in found]
    assert sorted(ids) == [f"sea/{i}.jpg" for i in range(3)] + [f"wood/oak/{i}.png" for i in range(3)]
    assert ids != sorted(ids)
    assert [one.id for one in find(album)[0]] == ids
    assert [(Path(one.path).name, one.reason) for one in skipped] == [
        ("gone.jpg", "No such file or directory")
    ]


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff.jpg")).write_bytes(b"")
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    assert [one.reason for one in find(tmp_path)[1]] == ["its name is not UTF-8"]


def test_payload_labels_and_vectors(album: Path, index: Index, embedder: Embedder) -> None:
    seen: list[tuple[int, int]] = []
    report = add_folder(
        index, album, embedder=embedder, labels=["folders"], on_progress=lambda *n: seen.append(n), workers=3
    )
    assert (report.added, report.replaced, report.unchanged, report.skipped) == (6, 0, 0, [])
    assert seen == [(i, 6) for i in range(1, 7)]
    item = index.get("wood/oak/1.png")
    assert item is not None
    assert item.labels == ["wood", "oak"]
    payload = item.payload or {}
    path = album / "wood" / "oak" / "1.png"
    assert payload["path"] == str(path)
    assert (payload["size"], payload["mtime"]) == (path.stat().st_size, path.stat().st_mtime)
    assert (payload["width"], payload["height"], payload["model"]) == (60, 40, "tiny")
    assert payload["thumbnail"].startswith("data:image/webp;base64,")
    hits = index.search(embedder.embed([path]), k=1)
    assert hits.ids[0, 0] == "wood/oak/1.png"
    others = index.search(embedder.embed([path]), k=3, where={"$labels": "sea"})
    assert set(others.ids[0]) == {"sea/0.jpg", "sea/1.jpg", "sea/2.jpg"}


def test_going_on_embeds_what_is_missing_or_has_changed(
    album: Path, index: Index, embedder: Embedder
) -> None:
    class StopError(Exception): ...

    def stop(done: int, _: int) -> None:
        if done == 3:
            raise StopError

    with pytest.raises(StopError):
        add_folder(index, album, embedder=embedder, on_progress=stop)
    assert len(index) == 3, "what was embedded is kept"
    report = add_folder(index, album, embedder=embedder)
    assert (report.added, report.unchanged) == (3, 3)
    add_folder(index, album / "sea", embedder=embedder)  # ids are relative to the folder given
    ids = [item.id for item in index.items(where={"path": [str(p) for p in album.glob("sea/*")]}).items]
    assert sorted(map(str, ids))[:3] == ["0.jpg", "1.jpg", "2.jpg"]
    index.delete(["0.jpg"])
    picture(album / "sea" / "1.jpg", 77, (50, 50))
    picture(album / "sea" / "9.jpg", 9)
    report = add_folder(index, album / "sea", embedder=embedder)
    assert (report.added, report.replaced, report.unchanged) == (2, 1, 1)
    item = index.get("1.jpg")
    assert item is not None
    assert (item.payload or {})["width"] == 50


def test_a_picture_of_another_folder_is_not_replaced(
    tmp_path: Path, index: Index, embedder: Embedder
) -> None:
    picture(tmp_path / "a" / "1.png", 1)
    picture(tmp_path / "b" / "1.png", 2, (30, 30))
    add_folder(index, tmp_path / "a", embedder=embedder)
    report = add_folder(index, tmp_path / "b", embedder=embedder)
    assert [one.reason for one in report.skipped] == ["the index has another item of the id '1.png'"]
    item = index.get("1.png")
    assert item is not None
    assert (item.payload or {})["width"] == 60


def test_what_cannot_be_used_is_reported_and_the_rest_is_added(
    album: Path, index: Index, embedder: Embedder
) -> None:
    data = (album / "sea" / "1.jpg").read_bytes()
    (album / "sea" / "1.jpg").write_bytes(data[: len(data) // 2])
    (album / "text.png").write_text("hello")
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    frames[0].save(album / "moving.gif", save_all=True, append_images=frames[1:])
    report = add_folder(index, album, embedder=embedder)
    assert report.added == len(index) == 5
    reasons = {Path(one.path).name: one.reason.split(":")[0] for one in report.skipped}
    assert reasons == {
        "1.jpg": "damaged",
        "text.png": "not a picture, or damaged",
        "moving.gif": "animated, or several pages",
    }


def test_threads_change_nothing(album: Path, embedder: Embedder, tmp_path: Path) -> None:
    found = []
    for workers in (1, 4):
        with Index.create(":memory:", dim=DIM) as index:
            add_folder(index, album, embedder=embedder, labels=["folders"], workers=workers)
            found.append([index.get(item.id) for item in index.items().items])
    assert found[0] == found[1]
    assert found[0][0] is not None
    assert found[0][0].vector is not None


def test_labels_are_learnt_where_asked(album: Path, embedder: Embedder) -> None:
    exif = Image.Exif()
    exif[0x9C9E] = "blue".encode("utf-16-le")
    picture(album / "sea" / "k.jpg", 5, exif=exif)
    sample = embedder.embed(sorted(album.rglob("*.??g")))
    with Index.create(":memory:", sample=sample, n_bits=8) as index:
        add_folder(index, album, embedder=embedder, labels=["folders", "keywords"], learn=True)
        assert index.stats().learnt == 7
        item = index.get("sea/k.jpg")
        assert item is not None
        assert item.labels == ["sea", "blue"]


def test_what_is_refused(album: Path, index: Index, embedder: Embedder, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="labels: expected any of folders, keywords"):
        add_folder(index, album, embedder=embedder, labels=["dates"])
    add_folder(index, album, embedder=embedder)
    other = Embedder(tiny_model(tmp_path / "other.onnx"))
    with pytest.raises(InvalidInputError, match="was embedded by tiny, not by other"):
        add_folder(index, album, embedder=other)
    with (
        Index.create(":memory:", dim=7) as narrow,
        pytest.raises(InvalidInputError, match="takes vectors of 7 features, but tiny gives 12"),
    ):
        add_folder(narrow, album, embedder=embedder)


def test_the_command_line(album: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (album / "text.png").write_text("hello")

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--model", str(model)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    said = json.loads(run("add", "photos.oh", "album", "--bits", "16", "--labels-from", "folders", "--json"))
    assert (said["added"], said["items"]) == (6, 6)
    assert [Path(one["path"]).name for one in said["skipped"]] == ["text.png"]
    assert run("add", "photos.oh", "album") == "photos.oh: 6 unchanged, 1 skipped, 6 items\n"
    found = json.loads(run("search", "photos.oh", "album/sea/2.jpg", "-k", "1", "--json"))
    assert found["hits"][0]["id"] == "sea/2.jpg"
    with pytest.raises(InvalidParameterError, match="is a folder: pictures have the options"):
        run("add", "photos.oh", "album", "--replace")
    with pytest.raises(InvalidParameterError, match="are for folders of pictures"):
        run("add", "photos.oh", "x.npy")
