import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.datasets import source


class Recorded(source.Held):
    """Writes down which rows each access reads; as from a file that has no other way in than ``read``."""

    def __init__(self, n: int, grain: int) -> None:
        super().__init__(np.arange(n)[:, None])
        self.grain = grain
        self.asked: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> source.Array:
        self.asked.append((start, stop))
        return super().read(start, stop)

    def take(self, rows: npt.NDArray[np.int64]) -> source.Array:
        return source.Source.take(self, rows)


@pytest.mark.parametrize(
    ("grain", "asked"),
    [(1, [(0, 2), (4, 5), (100, 101), (9000, 9001)]), (64, [(0, 5), (100, 101), (9000, 9001)])],
)
def test_gaps_worth_skipping_are_skipped(grain: int, asked: list[tuple[int, int]]) -> None:
    recorded = Recorded(10_000, grain)
    rows = np.array([0, 1, 4, 100, 9000])
    np.testing.assert_array_equal(recorded.take(rows)[:, 0], rows)
    assert recorded.asked == asked


@given(rows=st.sets(st.integers(0, 20_000)), grain=st.integers(1, 10_000))
def test_no_access_reads_more_than_is_allowed(rows: set[int], grain: int) -> None:
    recorded = Recorded(20_001, grain)
    wanted = np.array(sorted(rows), np.int64)
    assert recorded.take(wanted).ravel().tolist() == wanted.tolist()
    assert all(stop - start <= max(4096, grain) for start, stop in recorded.asked)
