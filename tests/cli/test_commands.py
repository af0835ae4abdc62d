"""Every command, by what it prints and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from onlinehash import Index, OnlineHashError, UnknownIdError
from onlinehash.cli.main import EXIT_CODES, app, exit_code

DIM = 12


def run(*arguments: str, stdin: str | None = None) -> str:
    done = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def process(*arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onlinehash", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index of 60 items that is initialised, and files of vectors and labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, DIM)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.where(X[:, 0] > 0, "right", "left"))
    monkeypatch.chdir(tmp_path)
    run("create", "t.oh", "--sample", "x.npy", "--bits", "16", "--base-bits", "16")
    run("add", "t.oh", "x.npy", "--labels", "y.npy", "--batch", "25")
    return tmp_path


def lines(*items: dict[str, Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def test_create_says_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = json.loads(run("create", "a.oh", "--dim", "5", "--bits", "24", "--keep-vectors", "--json"))
    assert made == {"path": "a.oh", "dim": 5, "n_bits": 24}
    with Index.open("a.oh") as index:
        assert (index.dim, index.n_bits, index.keep_vectors) == (5, 24, True)
    with pytest.raises(OnlineHashError, match="dim must be an int"):
        run("create", "b.oh")
    assert not Path("b.oh").exists()


def test_rows_of_a_file_are_numbered_and_labels_are_kept(folder: Path) -> None:
    with Index.open("t.oh") as index:
        assert len(index) == 60
        item = index.get(59)
        assert item is not None
        assert item.labels == [str(np.load("y.npy")[59])]
    more = json.loads(run("add", "t.oh", "x.npy", "--replace", "--skip", "55", "--json"))
    assert more == {"added": 5, "items": 60}


def test_lines_of_json_say_everything(folder: Path) -> None:
    X = np.load("x.npy").tolist()
    text = lines(
        {"id": "a", "vector": X[0], "labels": ["cat"], "payload": {"year": 2020}},
        {"vector": X[1]},
        {"id": -3, "vector": X[2]},
    )
    assert json.loads(run("add", "new.oh", "-", "--bits", "8", "--json", stdin=text)) == {
        "added": 3,
        "items": 3,
    }
    got = json.loads(run("get", "new.oh", "a", "--json"))
    assert got["payload"] == {"year": 2020}
    assert got["labels"] == ["cat"]
    assert json.loads(run("get", "new.oh", "1", "--json"))["id"] == 1
    Path("x.jsonl").write_text(text)
    assert "3 added, 3 items" in run("add", "new.oh", "x.jsonl", "--replace")
    with pytest.raises(OnlineHashError, match="--labels cannot be given"):
        run("add", "new.oh", "-", "--labels", "y.npy", stdin=text)


def test_ids_and_payloads_from_columns(folder: Path) -> None:
    X = np.load("x.npy")[:4]
    head = "id,year," + ",".join(f"f{i}" for i in range(DIM))
    rows = [f"p{i},{2000 + i}," + ",".join(map(str, x)) for i, x in enumerate(X.tolist())]
    Path("t.csv").write_text("\n".join([head, *rows]) + "\n")
    names = [f"f{i}" for i in range(DIM)]
    np.savez("t.npz", x=X, name=np.array(["a", "b", "c", "d"]), id=np.arange(4) + 100)
    run("add", "t.oh", "t.npz")
    assert json.loads(run("get", "t.oh", "103", "--json"))["id"] == 103
    run("add", "t.oh", "t.npz", "--id-key", "name", "--key", "x")
    assert json.loads(run("get", "t.oh", "d", "--json"))["id"] == "d"
    Path("ids.txt").write_text("q\nr\n7000\nt\n")
    run("add", "t.oh", "t.npz", "--ids", "ids.txt", "--payload", "name")
    assert json.loads(run("get", "t.oh", "7000", "--json"))["payload"] == {"name": "c"}
    Path("ids.txt").write_text("q\n")
    with pytest.raises(OnlineHashError, match=r"ids.txt: ids: expected 4, one for each row, got 1"):
        run("add", "t.oh", "t.npz", "--ids", "ids.txt")
    assert len(names) == DIM


def test_learning_and_tagging_raise_the_generation(folder: Path) -> None:
    said = json.loads(run("learn", "t.oh", "x.npy", "--labels", "y.npy", "--batch", "20", "--json"))
    assert (said["learnt"], said["labels"]) == (60, 2)
    before = said["generation"]
    said = json.loads(run("tag", "t.oh", "3", "4", "--label", "favourite", "--label", "7", "--json"))
    assert said == {"tagged": 2, "generation": before + 1}
    item = json.loads(run("get", "t.oh", "3", "--json"))
    assert item["labels"][1:] == ["favourite", 7]
    text = lines({"id": 5, "labels": ["x"]}, {"id": 6, "labels": ["y", "z"]})
    assert json.loads(run("tag", "t.oh", "--from", "-", "--no-keep", "--json", stdin=text))["tagged"] == 2
    text = lines({"id": 5, "labels": [0]}, {"id": 6, "labels": [1]})
    assert json.loads(run("tag", "t.oh", "--from", "-", "--json", stdin=text))["tagged"] == 2
    assert "x" not in json.loads(run("get", "t.oh", "5", "--json"))["labels"]
    assert "learnt from" in run("learn", "t.oh", "x.npy", "--labels", "y.npy")
    with pytest.raises(OnlineHashError, match="no labels; --labels names their file"):
        run("learn", "t.oh", "x.npy")


def test_learning_while_adding(folder: Path) -> None:
    run("add", "t.oh", "x.npy", "--labels", "y.npy", "--replace", "--learn")
    assert json.loads(run("info", "t.oh", "--json"))["learnt"] == 60


def test_a_server_that_cannot_start_says_why_in_a_line(folder: Path) -> None:
    Path("indexes").mkdir()
    run("backup", "t.oh", "indexes/t.oh")
    np.savez("held.npz", x=np.zeros((5, DIM + 1)), labels=np.arange(5))
    done = process("serve", "indexes", "--port", "0", "--held-out", "t=held.npz")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("onlinehash: held out for 't': vectors: expected numbers of shape (n, 12)")


def test_search_is_the_index_s(folder: Path) -> None:
    X = np.load("x.npy")
    with Index.open("t.oh", read_only=True) as index:
        expected = index.search(X[:3], k=4, score="hamming", where={"$labels": "left"})
        alike = index.search(ids=[7], k=2)
    np.save("q.npy", X[:3])
    how = ["-k", "4", "--score", "hamming", "--where", '{"$labels": "left"}']
    found = [json.loads(line) for line in run("search", "t.oh", "q.npy", *how, "--json").splitlines()]
    assert [row["query"] for row in found] == [0, 1, 2]
    assert [[hit["id"] for hit in row["hits"]] for row in found] == expected.ids.tolist()
    assert found[0]["generation"] == expected.generation
    (line,) = run("search", "t.oh", "--like", "7", "-k", "2", "--json").splitlines()
    assert json.loads(line)["hits"] == alike.to_dict()["hits"][0]
    table = run("search", "t.oh", "--like", "7", "-k", "2", "--payloads")
    assert str(alike.ids[0, 0]) in table
    assert "distance" in table
    text = lines({"id": "mine", "vector": X[0].tolist()})
    assert json.loads(run("search", "t.oh", "-", "--json", stdin=text))["query"] == "mine"


def test_delete_info_check_backup(folder: Path) -> None:
    assert json.loads(run("delete", "t.oh", "1", "2", "--json")) == {"deleted": 2, "items": 58}
    assert "0 deleted" in run("delete", "t.oh", "1", "--missing-ok")
    assert "1 deleted" in run("delete", "t.oh", "--from", "-", stdin=lines({"id": 3}))
    stats = json.loads(run("info", "t.oh", "--json"))
    assert (stats["items"], stats["dim"], stats["n_bits"]) == (57, DIM, 16)
    assert "57" in run("info", "t.oh")
    assert run("check", "t.oh") == "t.oh: whole\n"
    assert json.loads(run("backup", "t.oh", "copy.oh", "--json"))["bytes"] == Path("copy.oh").stat().st_size
    assert run("info", "copy.oh").splitlines()[0].split() == ["items", "57"]


def test_export_and_add_again(folder: Path) -> None:
    run("create", "k.oh", "--sample", "x.npy", "--bits", "16", "--keep-vectors")
    run("add", "k.oh", "x.npy", "--labels", "y.npy")
    assert "60 items" in run("export", "k.oh", "items.jsonl", "--vectors")
    run("create", "again.oh", "--sample", "x.npy", "--bits", "16")
    run("add", "again.oh", "items.jsonl")
    with Index.open("again.oh", read_only=True) as index, Index.open("k.oh", read_only=True) as before:
        assert index.items(limit=100).items == before.items(limit=100).items
    only = run("export", "k.oh", "-", "--where", '{"$labels": "left"}', "--codes").splitlines()
    assert len(only) == int((np.load("y.npy") == "left").sum())
    assert len(json.loads(only[0])["live"]) == 4
    run("export", "k.oh", "c.parquet")
    run("export", "k.oh", "c.faiss")
    import faiss
    import pyarrow.parquet as pq

    assert pq.read_table("c.parquet").num_rows == faiss.read_index_binary("c.faiss").ntotal == 60
    assert json.loads(Path("c.faiss.ids.jsonl").read_text().splitlines()[59]) == {"id": 59}
    with pytest.raises(OnlineHashError, match=r"ends with .parquet, .faiss or .jsonl"):
        run("export", "k.oh", "c.xml")


def test_a_number_or_text(folder: Path) -> None:
    x = np.load("x.npy")[0].tolist()
    run("add", "t.oh", "-", stdin=lines({"id": "7", "vector": x}, {"id": "900", "vector": x}))
    assert json.loads(run("get", "t.oh", "7", "--json"))["id"] == 7
    assert json.loads(run("get", "t.oh", '"7"', "--json"))["id"] == "7"
    assert json.loads(run("get", "t.oh", "900", "--json"))["id"] == "900", "there is no number 900"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "none.oh", "--like", "1"], "none.oh"),
        (["add", "t.oh", "none.npy"], "none.npy: there is no such file"),
        (["add", "t.oh", "none.jsonl"], "none.jsonl: cannot be read"),
        (["add", "t.oh", "t.oh"], "expected a file that ends with one of"),
        (["add", "t.oh", "wide.npy"], r"expected numbers of shape \(n, 12\)"),
        (["add", "t.oh", "x.npy"], "0.*in the index"),
        (["add", "t.oh", "x.npy", "--bits", "32"], "its codes have 16 bits"),
        (["add", "t.oh", "broken.jsonl"], "broken.jsonl: line 2"),
        (["add", "t.oh", "bare.jsonl"], "item 'a' has no vector"),
        (["learn", "t.oh", "x.npy", "--labels", "wide.npy"], "features of 3 or 99 items"),
        (["tag", "t.oh", "1"], "tag expects ids and --label, or --from"),
        (["delete", "t.oh"], "delete expects ids"),
        (["search", "t.oh"], "search expects vectors or --like"),
        (["search", "t.oh", "--like", "1", "--where", "{"], "--where: expected JSON"),
        (["search", "t.oh", "--like", "1", "--score", "best"], "score must be one of"),
        (["check", "none.oh"], "there is no such file"),
        (["add", "new.oh", "x.npy", "--ids", "twice.txt"], "ids: 'a' is there twice in one batch"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], said: str) -> None:
    np.save("wide.npy", np.zeros((3, 99), np.float32))
    Path("broken.jsonl").write_text('{"id": 1, "vector": [1]}\n{"id": 1, "vector"')
    Path("twice.txt").write_text("a\n" * 60)
    Path("bare.jsonl").write_text('{"id": "a"}\n')
    before = Path("t.oh").read_bytes()
    with pytest.raises(OnlineHashError, match=said) as raised:
        run(*arguments)
    assert exit_code(raised.value) == 2
    assert Path("t.oh").read_bytes() == before
    assert not list(Path().glob("n*.oh")), "no new index is left behind"


@pytest.mark.parametrize(
    "arguments", [["get", "t.oh", "x"], ["delete", "t.oh", "1", "x"], ["search", "t.oh", "--like", "x"]]
)
def test_an_unknown_id_is_exit_code_1(folder: Path, arguments: list[str]) -> None:
    with pytest.raises(UnknownIdError) as raised:
        run(*arguments)
    assert exit_code(raised.value) == 1


def test_a_row_that_is_not_finite_ends_it_and_says_what_is_kept(folder: Path) -> None:
    X = np.load("x.npy")
    X[45, 3] = np.nan
    np.save("nan.npy", X)
    with pytest.raises(OnlineHashError, match="row 45 of the file") as raised:
        run("add", "new.oh", "nan.npy", "--batch", "20")
    assert raised.value.__notes__ == ["40 items were added and are kept; --skip 40 goes on after them"]
    assert "20 items" in run("add", "new2.oh", "x.npy", "--skip", "40")
    with Index.open("new.oh") as index:
        assert len(index) == 40


def test_damage_is_found(folder: Path) -> None:
    data = bytearray(Path("t.oh").read_bytes())
    at = data.index(b'"n_bits"')
    data[at + 2] ^= 1
    Path("t.oh").write_bytes(data)
    done = CliRunner().invoke(app, ["check", "t.oh", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["wrong"]


def test_errors_are_one_line_on_stderr_and_a_second_writer_is_exit_code_3(folder: Path) -> None:
    with Index.open("t.oh"):
        done = process("delete", "t.oh", "1")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("onlinehash: t.oh is open for writing already")
    assert len(done.stderr.splitlines()) == 1
    assert {0, 1, 2, 3} <= set(EXIT_CODES)


def test_nobody_reads_any_more(folder: Path) -> None:
    command = f"{sys.executable} -m onlinehash export t.oh - | head -n 1; echo ${{PIPESTATUS[0]}}"
    X = np.random.default_rng(0).standard_normal((3000, DIM)).astype(np.float32)
    np.save("more.npy", X)
    Path("ids.txt").write_text("".join(f"{'long' * 20}{i}\n" for i in range(3000)))
    run("add", "t.oh", "more.npy", "--ids", "ids.txt")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout.splitlines()[0]) == {"id": 0, "labels": [str(np.load("y.npy")[0])]}
    assert done.stdout.splitlines()[1] == "141"
    assert done.stderr == ""


def test_ctrl_c_keeps_what_was_added(folder: Path) -> None:
    # whoever runs the tests in the background of a shell has SIGINT ignored, and so has a child
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from onlinehash.cli.main import main; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "add", "t.oh", "-", "--batch", "5"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        assert running.stdin is not None
        x = np.load("x.npy")[0].tolist()
        running.stdin.write(lines(*({"id": f"s{i}", "vector": x} for i in range(7))))
        running.stdin.flush()
        for _ in range(600):  # until the first batch is there
            time.sleep(0.1)
            with Index.open("t.oh", read_only=True) as index:
                if len(index) == 65:
                    break
        os.kill(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == "interrupted: 5 items were added and are kept; --skip 5 goes on after them\n"
    assert run("check", "t.oh") == "t.oh: whole\n"


def test_shell_completion_knows_the_commands() -> None:
    environment = {
        **os.environ,
        "_ONLINEHASH_COMPLETE": "complete_bash",
        "COMP_WORDS": "onlinehash ba",
        "COMP_CWORD": "1",
    }
    code = "from onlinehash.cli.main import app; app(prog_name='onlinehash')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["backup"]


def test_progress_is_for_terminals_and_stdout_for_json(folder: Path) -> None:
    np.save("many.npy", np.random.default_rng(0).standard_normal((3000, DIM)))
    terminal, its_end = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "onlinehash", "add", "n.oh", "many.npy", "--batch", "100", "--json"],
        stdout=subprocess.PIPE, stderr=its_end, text=True, env={**os.environ, "TERM": "xterm"},
    ) as running:  # fmt: skip
        os.close(its_end)
        shown = b""
        with suppress(OSError):  # the terminal is gone when the process is
            while part := os.read(terminal, 4096):
                shown += part
        said, _ = running.communicate(timeout=60)
    os.close(terminal)
    assert json.loads(said) == {"added": 3000, "items": 3000}
    assert b"adding" in shown
    assert b"/3000" in shown
    done = process("learn", "t.oh", "x.npy", "--labels", "y.npy", "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout)["learnt"] == 60


def test_what_is_not_installed_is_named(folder: Path) -> None:
    code = "import sys; sys.modules['faiss'] = None; from onlinehash.cli.main import main; main()"
    command = [sys.executable, "-c", code, "export", "t.oh", "c.faiss"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "onlinehash: this needs faiss, which is not installed\n"
