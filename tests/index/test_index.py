"""What a user does with an index, and what a user gets wrong."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from onlinehash import (
    OHWEU,
    Index,
    IndexClosedError,
    InvalidInputError,
    InvalidParameterError,
    UnknownIdError,
    nearest,
)
from onlinehash.codes import packed_to_signs, packed_to_words
from tests.index.kinds import Kind

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "photos.oh"


@pytest.fixture
def index(kind: Kind, clusters: Clusters) -> Any:
    """700 items, 300 of them the sample, with something learnt."""
    X, Y = clusters
    with kind.create(":memory:", n_bits=32, sample=X[:300]) as made:
        made.add([f"item {i}" for i in range(700)], X[:700], payloads=[{"n": i} for i in range(700)])
        made.learn(X[700:1100], Y[700:1100])
        yield made


def test_a_search_is_an_exact_scan_of_live_codes(kind: Kind, clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(32, n_init=300).fit(X[:300], Y[:300])
    with kind.create(":memory:", hasher=hasher) as index:
        index.add(range(1000), X[300:1300])
        index.learn(X, Y)
        hits = index.search(X[:20], k=7, score="hamming")
    learnt = hasher.partial_fit(X, Y)
    words = packed_to_words(learnt.encode(X[300:1300]), 32)
    slots, distances = nearest(words, learnt.encode_query(X[:20]), 7, 32)
    assert (hits.ids == slots).all()
    assert (hits.distances == distances).all()
    assert hits.generation == 2


def test_hits_have_one_shape(index: Index, clusters: Clusters) -> None:
    X, _ = clusters
    for queries, k in ((X[:3], 5), (X[:1], 1), (X[:2], 800), (X[:0], 4)):
        hits = index.search(queries, k=k)
        assert hits.ids.shape == hits.distances.shape == (len(queries), k)
        assert hits.payloads is None
    hits = index.search(X[:2], k=800)
    assert all(id is None for id in hits.ids[:, 700:].ravel())
    assert np.isinf(hits.distances[:, 700:]).all()
    assert [len(row) for row in hits] == [700, 700]
    assert json.loads(json.dumps(hits.to_dict()))["hits"][1][0]["id"] == hits.ids[1, 0]
    with_payloads = index.search(X[:2], k=3, payloads=True)
    assert [hit.payload for hit in with_payloads[0]] == [
        {"n": int(str(hit.id).split()[1])} for hit in with_payloads[0]
    ]


def test_an_empty_index_finds_nothing(kind: Kind, clusters: Clusters) -> None:
    X, _ = clusters
    for how in ({"dim": 40}, {"sample": X[:300]}):
        with kind.create(":memory:", **how) as index:
            hits = index.search(X[:2], k=3)
            assert hits.ids.tolist() == [[None] * 3] * 2
            assert len(index) == 0
            assert index.search(X[:2], k=3, where={"a": 1}).ids.tolist() == [[None] * 3] * 2
            assert hits.to_dict()["hits"] == [[], []]


def test_more_like_stored_items(index: Index) -> None:
    hits = index.search(ids=["item 3", "item 600"], k=699, score="hamming")
    codes = dict(zip(*index.to_numpy(), strict=True))
    for name, row in zip(("item 3", "item 600"), hits, strict=True):
        assert name not in [hit.id for hit in row]
        assert len(row) == 699
        for hit in row[::50]:
            assert hit.distance == np.bitwise_count(codes[hit.id] ^ codes[name]).sum()
    only = index.search(ids=["item 3", "item 4"], k=3, where={"n": [3, 5]})
    assert [hit.id for hit in only[0]] == ["item 5"]
    assert {hit.id for hit in only[1]} == {"item 3", "item 5"}


def test_adding_is_all_or_nothing(index: Index, clusters: Clusters) -> None:
    X, _ = clusters
    before = asdict(index.stats()) | {"seconds": 0}, index.search(X[:9]).to_dict()
    for ids in (["new", "item 5"], ["new", "new"], ["new"], ["new", 2.5], ["new", True], ["new", None],
                ["new", 2**63], ["new", "\ud800"], "ab", 5):  # fmt: skip
        with pytest.raises(InvalidInputError, match="ids"):
            index.add(ids, X[:2])  # type: ignore[arg-type]
    for vectors, what in ((X[:2, :39], "shape"), (X[0], r"pass \[x\]"), ([["a", "b"]] * 2, "numbers"),
                          (np.where(np.eye(2, 40) > 0, np.nan, 0), "NaN"), ([[1], [1, 2]], "lengths"),
                          (np.full((2, 40), 1e300), "float32")):  # fmt: skip
        with pytest.raises(InvalidInputError, match=what):
            index.add(["new", "newer"], vectors)
    payloads: Any
    for payloads in ([{}], [{}, 5], [{}, {"a": {1, 2}}], [{}, {1: 2}], [{}, {"a": float("nan")}], {"a": 1},
                     "ab", [{}, {"a": ["\ud800"]}]):  # fmt: skip
        with pytest.raises(InvalidInputError, match="payloads"):
            index.add(["new", "newer"], X[:2], payloads=payloads)
    with pytest.raises(InvalidInputError, match="Y"):
        index.add(["new", "newer"], X[:2], labels=["one"])
    with pytest.raises(UnknownIdError, match="'nobody' and 1 more not in the index"):
        index.delete(["item 1", "nobody", "no one"])
    with pytest.raises(UnknownIdError):
        index.tag(["item 1", "nobody"], ["a", "b"])
    assert (asdict(index.stats()) | {"seconds": 0}, index.search(X[:9]).to_dict()) == before
    assert "new" not in index


def test_ids_keep_their_type(kind: Kind, clusters: Clusters) -> None:
    X, _ = clusters
    with kind.create(":memory:", sample=X[:300]) as index:
        index.add(np.arange(3), X[:3])
        index.add(["1", "", "a\0b", "ü"], X[3:7])
        index.add([-(2**63), 2**63 - 1], X[7:9])
        assert len(index) == 9
        assert 1 in index
        assert "1" in index
        assert "2" not in index
        assert 2.0 not in index
        found = index.search(X[:9], k=1).ids.ravel().tolist()
        assert found == [0, 1, 2, "1", "", "a\0b", "ü", -(2**63), 2**63 - 1]
        assert index.delete(["1", "a\0b"]) == 2
        assert 1 in index


def test_replacing_and_deleting(kind: Kind, index: Index, clusters: Clusters) -> None:
    X, _ = clusters
    with pytest.raises(InvalidInputError, match="'item 1' is in the index already; replace=True"):
        index.add(["x", "item 1"], X[:2])
    index.add(["item 1", "x"], X[800:802], payloads=[{"new": 1}, None], labels=["a", None], replace=True)
    assert len(index) == 701
    item = index.get("item 1")
    assert item is not None
    assert (item.payload, item.labels) == ({"new": 1}, ["a"])
    assert index.search(X[800:801], k=1, where={"new": 1}).ids[0, 0] == "item 1"
    assert index.delete(["item 1", "item 2", "item 1"]) == 2
    assert index.delete(["item 1", "item 3"], missing_ok=True) == 1
    assert index.delete([]) == 0
    assert index.get("item 1") is None
    assert len(index) == 698
    hits = index.search(X[:5], k=698)
    assert not {"item 1", "item 2", "item 3"} & set(hits.ids.ravel().tolist())
    index.add(["item 1", "y", "z"], X[:3])  # in the freed slots
    assert index.search(X[:1], k=701).ids.size == 701
    assert kind.n_slots(index) == 702


def test_before_initialisation_items_are_found_by_cosine(kind: Kind, path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    index = kind.create(path, dim=40, hasher=OHWEU(16, n_init=100))
    index.add(range(60), X[:60], labels=Y[:60])
    index.delete(range(50, 60))
    index.learn(X[60:80], Y[60:80])
    index.tag([0, 1, 1], ["tagged", "tagged", "twice"])
    for _ in range(2):
        hits = index.search(X[:3], k=4)
        cosines = (X[:3] @ X[:50].T) / np.linalg.norm(X[:3], axis=1)[:, None] / np.linalg.norm(X[:50], axis=1)
        assert (hits.ids == np.argsort(-cosines, axis=1, kind="stable")[:, :4]).all()
        assert hits.distances == pytest.approx(1 - np.sort(cosines)[:, ::-1][:, :4], abs=1e-5)
        assert (hits.score, hits.generation) == ("cosine", 0)
        assert [hit.id for hit in index.search(X[:1], k=4, where={"$labels": "tagged"})[0]] == [0, 1]
        assert 0 not in index.search(ids=[0], k=60).ids.ravel().tolist()
        stats = index.stats()
        assert (stats.waiting, stats.initialized, stats.items) == (70, False, 50)
        index.close()
        index = kind.open(path)
    index.add(range(100, 130), X[100:130])
    stats = index.stats()
    assert (stats.initialized, stats.items, stats.generation, stats.learnt) == (True, 80, 1, 23)
    ids, codes = index.to_numpy()
    assert (codes == index._hasher.encode(X[ids])).all()  # type: ignore[union-attr, index]
    assert index.search(X[:5]).score == "asymmetric"
    answers = index.search(X, k=20).to_dict()
    with index._store.read() as view:
        assert len(view.vectors()[0]) == 0
    index.close()
    with kind.open(path) as again:
        assert again.search(X, k=20).to_dict() == answers
        again.add(["in a gap"], X[:1])


def test_one_large_batch_initialises_at_once(kind: Kind, clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=200)
    with kind.create(":memory:", dim=40, hasher=hasher) as added, kind.create(
        ":memory:", dim=40, hasher=hasher
    ) as learnt:  # fmt: skip
        added.add(range(1500), X)
        learnt.learn(X, Y)
        for index in (added, learnt):
            assert index.stats().initialized
        base = OHWEU(16, n_init=200).initialize(X[:200])
        assert (added._hasher.hash(X) == base.hash(X)).all()  # type: ignore[union-attr]
        assert (learnt._hasher.P_ == base.partial_fit(X, Y).P_).all()  # type: ignore[union-attr]


def test_tag_learns_from_what_is_stored(kind: Kind, clusters: Clusters) -> None:
    X, Y = clusters
    names = [[f"label {j}" for j in np.flatnonzero(row)] for row in Y]
    for keep_vectors in (False, True):
        with kind.create(":memory:", n_bits=32, sample=X[:300], keep_vectors=keep_vectors) as index:
            index.add(range(1200), X[300:], labels=["kept"] * 1200)
            start = index._hasher
            assert start is not None
            index.tag(range(1200), names[300:])
            hasher = index._hasher
            assert hasher is not None
            expected = start.copy()
            if keep_vectors:
                expected.learn_codes(start.hash(X[300:]), names[300:], X[300:].astype(np.float16))
            else:
                expected.learn_codes(start.hash(X[300:]), names[300:])
                assert (hasher.R_ == start.R_).all()
            assert (hasher.P_ == expected.P_).all()
            assert (hasher.R_ == expected.R_).all()
            item = index.get(7)
            assert item is not None
            assert item.labels == ["kept", *names[307]]
            index.tag([7], ["unkept"], keep=False)
            assert index.get(7) == item
            ids, codes = index.to_numpy()
            assert ids == list(range(1200))
            assert (codes == index._hasher.encode(X[300:])).all()  # type: ignore[union-attr]


def test_vectors_that_are_kept(kind: Kind, path: Path, clusters: Clusters) -> None:
    X, _ = clusters
    with kind.create(path, n_bits=16, sample=X[:300], keep_vectors=True) as index:
        index.add(range(1000), X[:1000])
        hits = index.search(X[:5], k=3, rerank=200)
        assert hits.ids[:, 0].tolist() == [0, 1, 2, 3, 4]
        assert (hits.distances[:, 0] < 1e-3).all()
        assert (np.diff(hits.distances, axis=1) >= 0).all()
        assert hits.score == "cosine"
        assert index.search(ids=[3], k=3, rerank=200).ids.shape == (1, 3)
        item = index.get(3)
        assert item is not None
        assert item.vector == X[3].astype(np.float16).astype(float).tolist()
        with pytest.raises(InvalidInputError, match="float16"):
            index.add(["big"], np.full((1, 40), 70000.0))
        with pytest.raises(InvalidInputError, match="keeps vectors"):
            index.add_codes(["code"], np.zeros((1, 5), np.uint8))
    with kind.create(":memory:", sample=X[:300]) as bare:
        bare.add([1], X[:1])
        with pytest.raises(InvalidParameterError, match="keep_vectors"):
            bare.search(X[:1], rerank=10)


def test_the_asymmetric_score(index: Index, clusters: Clusters) -> None:
    X, _ = clusters
    hits = index.search(X[:4], k=700)
    ids, codes = index.to_numpy()
    hasher = index._hasher
    assert hasher is not None
    weights = hasher.query_scores(X[:4]).astype(np.float64)
    signs = packed_to_signs(codes, 32)
    expected = (np.abs(weights).sum(axis=1)[:, None] - weights @ signs.T) / 2
    place = {name: i for i, name in enumerate(ids)}
    for q in range(4):
        found = [expected[q, place[id]] for id in hits.ids[q]]
        assert hits.distances[q] == pytest.approx(found, abs=1e-4)
        assert (np.diff(hits.distances[q]) >= 0).all()
    assert hits.score == "asymmetric"
    assert index.search(ids=["item 1"], k=5, score="asymmetric").ids.shape == (1, 5)


def test_refreshing_by_hand(kind: Kind, path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    with kind.create(path, sample=X[:300], refresh="manual") as index:
        index.add(range(300), X[:300])
        before = index.search(X[:20]).to_dict()
        assert index.learn(X, Y) == 2
        assert index.learn(X, Y) == 3
        assert index.search(X[:20]).to_dict() == before
        stats = index.stats()
        assert (stats.generation, stats.pending, stats.flipped) == (1, 2, None)
        index.add(["under the old"], X[300:301])
        assert index.refresh() == 3
        assert index.refresh() == 3
        stats = index.stats()
        assert (stats.generation, stats.pending) == (3, 0)
        assert 0 < (stats.flipped or 0) < 1
        assert stats.learnt == 3000
        assert 0 < (stats.mistakes_P or 0) < 0.5
        assert stats.seconds.keys() >= {"learn", "refresh", "store", "hash"}
        json.dumps(asdict(stats))
        index.learn(X, Y)
    with kind.open(path) as again:  # what was learnt is served when it opens
        assert (again.stats().generation, again.stats().pending) == (4, 0)


def test_learning_behind_and_from_streams(index: Index, clusters: Clusters) -> None:
    X, Y = clusters
    first = index._generation
    for start in range(0, 1500, 100):
        index.learn(X[start : start + 100], Y[start : start + 100], wait=False)
    assert index.refresh() == first + 15
    assert index.learn_stream((X[i : i + 500], Y[i : i + 500]) for i in (0, 500)) == first + 17
    assert index.search(X[:1]).generation == first + 17
    assert index.learn_one(X[0], "label").learn_one(X[1], {"one", "two"}) is index
    assert index.stats().labels == 6 + 3


def test_reopening_gives_the_same_answers(kind: Kind, path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    with kind.create(path, dim=40, hasher=OHWEU(48, n_init=300, random_state=None)) as index:
        index.add(range(1000), X[:1000], labels=Y[:1000], payloads=[{"i": i} for i in range(1000)])
        index.learn(X, Y)
        index.delete(range(0, 1000, 3))
        index.tag([1, 2, 4], ["a", "b", "c"])
        index.add(["a", "b"], X[:2])
        answers = index.search(X, k=20, payloads=True).to_dict()
        item = index.get(4)
    with kind.open(path) as again:
        assert again.search(X, k=20, payloads=True).to_dict() == answers
        assert again.get(4) == item
        again.learn(X[:50], Y[:50])
        again.add(["c"], X[2:3])
        assert "c" in again


def test_backups_are_indexes(kind: Kind, index: Index, path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    answers = index.search(X[:50]).to_dict()
    index.backup(path)
    index.learn(X, Y)
    with pytest.raises(InvalidParameterError, match="exists"):
        index.backup(path)
    with kind.open(path) as copy:
        assert copy.search(X[:50]).to_dict() == answers


@pytest.mark.parametrize(
    "hasher",
    [
        OHWEU(16, n_init=100, centre=np.arange(40) / 10),
        OHWEU.as_published(16, random_state=np.random.default_rng(1)),
        OHWEU(100, n_init=np.int64(50), average=False),  # type: ignore[arg-type]
        OHWEU(64, base_bits=None, n_init=100).set_params(n_bits=30),
    ],
)
def test_every_hasher_comes_back(kind: Kind, hasher: OHWEU, path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    kind.create(path, dim=40, hasher=hasher).close()
    with kind.open(path) as index:
        index.add(range(400), X[:400])
        index.learn(X, Y)
        answers = index.search(X[:99]).to_dict()
    with kind.open(path) as index:
        assert index.search(X[:99]).to_dict() == answers
        index.learn(X, Y)


def test_a_closed_index_says_so(kind: Kind, path: Path, clusters: Clusters) -> None:
    X, _ = clusters
    index = kind.create(path, sample=X[:300])
    index.close()
    index.close()
    for use in (lambda: index.add([1], X[:1]), lambda: index.search(X[:1]), lambda: len(index),
                lambda: index.learn(X[:1], ["a"]), lambda: index.get(1), index.stats):  # fmt: skip
        with pytest.raises(IndexClosedError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({}, "either vectors or ids"),
        ({"vectors": np.zeros((1, 40)), "ids": ["item 1"]}, "either vectors or ids"),
        ({"vectors": np.zeros((1, 39))}, r"shape \(n, 40\)"),
        ({"vectors": np.zeros((1, 40)), "k": 0}, "k must be"),
        ({"vectors": np.zeros((1, 40)), "k": 2.0}, "k must be"),
        ({"vectors": np.zeros((1, 40)), "score": "cosine"}, "score must be one of hamming, asymmetric"),
        ({"vectors": np.zeros((1, 40)), "where": "year > 2020"}, "where: expected a mapping"),
        ({"ids": "item 1"}, "a list of one"),
    ],
)
def test_wrong_searches_are_refused(index: Index, how: dict[str, Any], what: str) -> None:
    with pytest.raises((InvalidParameterError, InvalidInputError), match=what):
        index.search(**how)
    with pytest.raises(UnknownIdError):
        index.search(ids=["item 1", "nobody"])


def test_a_fitted_hasher_is_copied(kind: Kind, clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=100).fit(X, Y)
    before = hasher.P_.copy()
    with kind.create(":memory:", hasher=hasher) as index:
        index.learn(X, Y)
        assert (before == hasher.P_).all()
        assert (before != index._hasher.P_).any()  # type: ignore[union-attr]


def test_a_pipeline_before_the_index(kind: Kind, clusters: Clusters) -> None:
    X, Y = clusters
    pipeline = make_pipeline(PCA(20, random_state=0), OHWEU(16, n_init=100)).fit(X, Y)
    with kind.create(":memory:", hasher=pipeline[-1]) as index:
        index.add(range(1500), pipeline[:-1].transform(X))
        assert (index.to_numpy()[1] == pipeline[-1].encode(pipeline[:-1].transform(X))).all()
