"""Parts of a kernel's work, on as many cores as there are or as one is told to use."""

import threading
from collections.abc import Callable

import pytest
from threadpoolctl import threadpool_info

from onlinehash.kernels import threads
from onlinehash.kernels.threads import at_most, in_parts, n_cores, side_by_side


@pytest.mark.parametrize(("n", "parts", "align"), [(0, 2, 64), (1, 3, 64), (1000, 3, 64), (10, 4, 1)])
def test_every_range_is_worked_on_once(n: int, parts: int, align: int) -> None:
    worked: list[int] = []
    in_parts(lambda part, first, last: worked.extend(range(first, last)), n, parts, align)
    assert sorted(worked) == list(range(n))


def test_parts_of_parts_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many callers whose parts have parts: they would wait for ever if those needed a thread of the pool."""
    inner: list[int] = []

    def work(part: int, first: int, last: int) -> None:
        in_parts(lambda *_: inner.append(part), 2, n_cores(), align=1)

    callers = [threading.Thread(target=in_parts, args=(work, 8, 8, 1)) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert set(inner) == set(range(8))


def test_an_error_in_a_part_comes_out_when_all_have_ended() -> None:
    ended: list[int] = []

    def work(part: int, first: int, last: int) -> None:
        if part == 0:
            raise ValueError("part 0")
        ended.append(part)

    with pytest.raises(ValueError, match="part 0"):
        in_parts(work, 3, 3, align=1)
    assert sorted(ended) == [1, 2]


@pytest.mark.parametrize("cores", [1, 4])
def test_works_side_by_side(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    with at_most(cores):
        side_by_side(note("P"), note("R"))
    assert sorted(done) == ["P", "R"]


def test_at_most_ends_with_its_block() -> None:
    before = threads.n_cores()
    with at_most(1):
        assert n_cores() == 1
    assert n_cores() == before


def test_limits_that_overlap_end_as_it_was() -> None:
    def of_blas() -> list[int]:
        ours = ("numpy", "scipy")  # other tests may have loaded others since
        libraries = [found for found in threadpool_info() if found["user_api"] == "blas"]
        return [
            found["num_threads"] for found in libraries if any(name in found["filepath"] for name in ours)
        ]

    import scipy.linalg  # noqa: F401  (has a BLAS of its own)

    before = of_blas()
    inside, left = threading.Event(), threading.Event()

    def other() -> None:
        with at_most(1):
            inside.set()
            left.wait()

    with at_most(1):
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
    assert set(of_blas()) == {1}  # the other thread's
    left.set()
    thread.join()
    assert of_blas() == before
