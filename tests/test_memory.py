import numpy as np
import pytest

from onlinehash.memory import aligned_empty


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (7, 64, 2)])
def test_memory_starts_at_a_cache_line(shape: tuple[int, ...]) -> None:
    array = aligned_empty(shape, np.float32)
    assert array.shape == shape
    assert array.dtype == np.float32
    assert array.ctypes.data % 64 == 0 or array.size == 0
    array[...] = 1
