from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.datasets import tables

X = np.arange(120, dtype=np.float32).reshape(60, 2)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 rows in row groups of 13."""
    path = tmp_path_factory.mktemp("tables") / "t.parquet"
    pq.write_table(pa.table({"vector": X.tolist()}), path, row_group_size=13)
    return path


@given(accesses=st.lists(st.tuples(st.integers(0, 59), st.integers(1, 30)), max_size=8))
def test_parquet_is_read_forwards_and_backwards(path: Path, accesses: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_BATCH", 4)
        source = tables.VectorColumns(path, ["vector"])
        for start, length in accesses:
            np.testing.assert_array_equal(
                source.read(start, min(60, start + length)), X[start : start + length]
            )


class Watched:
    """A Parquet file that writes down at which row group it is entered."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self.file = file
        self.entered: list[int] = []

    def iter_batches(self, size: int, row_groups: list[int], columns: list[str]) -> Any:
        self.entered.append(row_groups[0])
        return self.file.iter_batches(size, row_groups=row_groups, columns=columns)


def test_row_groups_in_between_are_passed_over(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_BATCH", 4)
        source = tables.VectorColumns(path, ["vector"])
        watched = source.__dict__["handle"] = Watched(source.handle)
        for row in (3, 7, 12, 55, 20):
            np.testing.assert_array_equal(source.read(row, row + 1), X[[row]])
    assert watched.entered == [4, 1]
