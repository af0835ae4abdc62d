"""What must hold for every online hasher, as checks that anyone can run on their own.

    from onlinehash import check_hasher
    check_hasher(MyHasher(n_bits=16, n_init=50))

Each ``check_*`` function takes a maker of fresh, equal hashers and raises AssertionError with a
sentence. scikit-learn's ``check_estimator`` does not know ``partial_fit`` on transformers, streams
or codes, so these stand beside it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from onlinehash.codes import check_packed
from onlinehash.errors import InvalidInputError, NotInitializedError

Make: TypeAlias = Callable[[], Any]

_ROWS, _WIDTH, _LABELS = 240, 24, 5


def check_hasher(hasher: Any) -> None:
    """Run all checks on clones of ``hasher``, which must be initialised by at most 120 rows."""
    for check in CHECKS:
        check(lambda: clone(hasher))


def stream() -> tuple[npt.NDArray[np.float32], list[list[str]]]:
    """Clustered features and a list of labels for each row, none for some."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((_LABELS, _WIDTH))
    of = rng.integers(_LABELS, size=(_ROWS, 2))
    X = centres[of].mean(axis=1) + 0.5 * rng.standard_normal((_ROWS, _WIDTH))
    Y = [[f"label {j}" for j in sorted(set(row))] if i % 10 else [] for i, row in enumerate(of)]
    return X.astype(np.float32), Y


def check_unfitted_use_is_refused(make: Make) -> None:
    """Encoding before the initial sample is complete says so."""
    X, Y = stream()
    for hasher in (make(), make().partial_fit(X[:1], Y[:1])):
        for method in ("encode", "encode_query", "transform"):
            try:
                getattr(hasher, method)(X)
            except NotInitializedError:
                continue
            raise AssertionError(f"{method} before initialisation did not raise NotInitializedError")


def check_codes_are_packed(make: Make) -> None:
    """Codes are packed uint8 of n_bits bits with no padding set, one row an item, queries alike."""
    X, Y = stream()
    hasher = make().partial_fit(X, Y)
    for method in ("encode", "encode_query"):
        codes = check_packed(getattr(hasher, method)(X[:17]), hasher.n_bits, method)
        assert len(codes) == 17, f"{method} gave {len(codes)} codes for 17 rows"
    assert hasher.transform(X[:17]).shape == (17, hasher.n_bits), "transform: not one column a bit"


def check_codes_do_not_depend_on_the_batch(make: Make) -> None:
    """A row's code is the same alone and in company."""
    X, Y = stream()
    hasher = make().partial_fit(X, Y)
    for method in ("encode", "encode_query"):
        together = getattr(hasher, method)(X)
        alone = np.concatenate([getattr(hasher, method)(X[i : i + 1]) for i in range(len(X))])
        assert (together == alone).all(), f"{method} depends on the batch that a row comes in"


def check_chunking_does_not_change_the_result(make: Make) -> None:
    """Row by row, in odd chunks or at once: the same codes, up to rounding at the threshold."""
    X, Y = stream()
    whole = _codes(make().partial_fit(X, Y), X)
    for size in (1, 7, 100):
        chunked = make()
        for start in range(0, len(X), size):
            chunked.partial_fit(X[start : start + size], Y[start : start + size])
        share = np.unpackbits(whole ^ _codes(chunked, X)).mean()
        assert share < 1e-3, f"chunks of {size} rows change {share:.2%} of the bits"


def check_input_is_not_changed(make: Make) -> None:
    """X and Y are as they were; read-only and strided arrays will do."""
    X, Y = stream()
    X_before, Y_before = X.copy(), [list(row) for row in Y]
    X.flags.writeable = False
    hasher = make().partial_fit(X, Y)
    expected = _codes(hasher, X)
    assert (X_before == X).all(), "partial_fit changed X"
    assert Y_before == Y, "partial_fit changed Y"
    strided = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    assert (_codes(make().partial_fit(strided, Y), strided) == expected).all(), "memory layout matters"


def check_input_is_not_kept(make: Make) -> None:
    """Overwriting X after the call changes nothing."""
    X, Y = stream()
    probe = X.copy()
    hasher, careless = make(), make()
    for start in range(0, len(X), 60):
        chunk = X[start : start + 60].copy()
        hasher.partial_fit(chunk.copy(), Y[start : start + 60])
        careless.partial_fit(chunk, Y[start : start + 60])
        chunk[:] = 1e6
    assert (_codes(hasher, probe) == _codes(careless, probe)).all(), "X is kept by reference"


def check_memory_is_bounded(make: Make) -> None:
    """More rows with known labels, again and again, need no more memory than they have needed before."""
    X, Y = stream()
    hasher = make()
    sizes = [_bytes(hasher.partial_fit(X, Y)) for _ in range(24)]
    assert max(sizes[12:]) <= max(sizes[:12]), f"state grew from {max(sizes[:12])} to {max(sizes[12:])} bytes"


def check_same_seed_same_codes(make: Make) -> None:
    """Two hashers with one int random_state are equal; so is one that is fitted a second time."""
    X, Y = stream()
    first, second = make().set_params(random_state=3), make().set_params(random_state=3)
    codes = _codes(first.partial_fit(X, Y), X)
    assert (codes == _codes(second.partial_fit(X, Y), X)).all(), "equal hashers differ"
    once = _codes(first.fit(X, Y), X)
    assert (once == _codes(first.fit(X, Y), X)).all(), "fit remembers an earlier fit"


def check_clones_are_independent(make: Make) -> None:
    """Learning in a clone does not touch the original, and fitting does not touch parameters."""
    X, Y = stream()
    hasher = make()
    parameters = {name: repr(value) for name, value in hasher.get_params().items()}
    codes = _codes(hasher.partial_fit(X, Y), X)
    clone(hasher).partial_fit(X[::-1], Y[::-1])
    assert (_codes(hasher, X) == codes).all(), "a clone shares state with its original"
    after = {name: repr(value) for name, value in hasher.get_params().items()}
    assert parameters == after, "partial_fit changed a parameter"


def check_labels_are_free(make: Make) -> None:
    """New labels may appear at any time, as str or int; rows without labels are fine.

    They teach nothing, unless the hasher says that it ``learns_from`` "features".
    """
    X, Y = stream()
    hasher = make().partial_fit(X, Y)
    hasher.partial_fit(X[:3], ["never seen", None, 12]).partial_fit(X[:2], [{"another"}, set()])
    hasher.partial_fit(X[:2])
    if getattr(hasher, "learns_from", "labels") == "features":
        return
    codes = _codes(hasher, X)
    hasher.partial_fit(X[:9], [[] for _ in range(9)])
    assert (_codes(hasher, X) == codes).all(), "rows without a label taught something"


def check_bad_input_is_refused_whole(make: Make) -> None:
    """A chunk with anything wrong in it is an InvalidInputError and changes nothing."""
    X, Y = stream()
    for hasher in (make().partial_fit(X, Y), make().partial_fit(X[:1], Y[:1])):
        before = _bytes(hasher), hasher.n_seen_
        codes = _codes(hasher, X) if hasher.initialized_ else None
        for bad_X, bad_Y in _bad_chunks(X, Y):
            try:
                hasher.partial_fit(bad_X, bad_Y)
            except InvalidInputError:
                pass
            else:
                raise AssertionError(f"a bad chunk was taken: X {np.shape(bad_X)}, Y {bad_Y!r:.60}")
            assert (_bytes(hasher), hasher.n_seen_) == before, "a refused chunk left something behind"
            if codes is not None:
                assert (_codes(hasher, X) == codes).all(), "a refused chunk was learnt from"


def check_saved_and_loaded_is_the_same(make: Make) -> None:
    """A loaded hasher encodes alike and goes on learning alike."""
    X, Y = stream()
    hasher = make().partial_fit(X[:150], Y[:150])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hasher.safetensors"
        hasher.save(path)
        loaded = type(hasher).load(path)
    assert (_codes(hasher, X) == _codes(loaded, X)).all(), "a loaded hasher encodes otherwise"
    hasher.partial_fit(X[150:], Y[150:])
    loaded.partial_fit(X[150:], Y[150:])
    assert (_codes(hasher, X) == _codes(loaded, X)).all(), "a loaded hasher learns otherwise"


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_unfitted_use_is_refused,
    check_codes_are_packed,
    check_codes_do_not_depend_on_the_batch,
    check_chunking_does_not_change_the_result,
    check_input_is_not_changed,
    check_input_is_not_kept,
    check_memory_is_bounded,
    check_same_seed_same_codes,
    check_clones_are_independent,
    check_labels_are_free,
    check_bad_input_is_refused_whole,
    check_saved_and_loaded_is_the_same,
)


def _bad_chunks(X: npt.NDArray[np.float32], Y: list[list[str]]) -> Iterator[tuple[Any, Any]]:
    nan, infinite = X[:5].copy(), X[:5].copy()
    nan[3, 2], infinite[4, 0] = np.nan, np.inf
    yield nan, Y[:5]
    yield infinite, Y[:5]
    yield X[:5, :-1], Y[:5]
    yield X[:0], Y[:0]
    yield X[0], Y[:1]
    yield X[:5], Y[:4]
    yield X[:5], np.full((5, 3), 2)
    yield X[:5], np.ones((5, 1), int)
    yield X[:5], [["a"], "b", ["c"], [], []]
    yield X[:5], [[1.5], [], [], [], []]
    yield X[:5], "abcde"


def _codes(hasher: Any, X: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    return np.concatenate([hasher.encode(X), hasher.encode_query(X)], axis=1)


def _bytes(value: Any) -> int:
    """Bytes of all arrays that hang on to an object."""
    seen: set[int] = set()

    def walk(item: Any) -> int:
        if id(item) in seen or isinstance(item, (type, str, int, float)):
            return 0
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            return item.nbytes if item.dtype != object else sum(map(walk, item.flat))
        if isinstance(item, dict):
            return sum(map(walk, item.values()))
        if isinstance(item, (list, tuple, set, frozenset)):
            return sum(map(walk, item))
        slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [getattr(item, name, None) for name in slots] + list(
            vars(item).values() if hasattr(item, "__dict__") else ()
        )
        return sum(map(walk, parts))

    return walk(value)
