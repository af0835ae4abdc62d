"""The harness itself: each check must catch a hasher that breaks its rule."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onlinehash import LSH, checks
from onlinehash.codes import Packed


class Broken(LSH):
    """LSH with one fault; its own parameters, so that it can be cloned."""

    def __init__(self, n_bits: int = 20, *, n_init: int = 50, random_state: Any = 0) -> None:
        super().__init__(n_bits, n_init=n_init, random_state=random_state)


class EncodesTooEarly(Broken):
    def encode(self, X: Any) -> Packed:
        return super().encode(X) if self.initialized_ else np.zeros((len(X), 3), np.uint8)


class SetsPadding(Broken):
    def _encode(self, Z: Any) -> Packed:
        return super()._encode(Z) | np.uint8(1)


class DependsOnTheBatch(Broken):
    def encode(self, X: Any) -> Packed:
        return super().encode(X - np.mean(X, axis=0))


class DependsOnTheChunks(Broken):
    def partial_fit(self, X: Any, Y: Any = None) -> "DependsOnTheChunks":
        super().partial_fit(X, Y)
        self.chunks_ = getattr(self, "chunks_", 0) + 1
        return self

    def _encode(self, Z: Any) -> Packed:
        return super()._encode(np.roll(Z, self.chunks_, axis=1))


class ChangesX(Broken):
    def partial_fit(self, X: Any, Y: Any = None) -> "ChangesX":
        super().partial_fit(X, Y)
        if X.flags.writeable:
            X += 1
        return self


class KeepsX(Broken):
    def partial_fit(self, X: Any, Y: Any = None) -> "KeepsX":
        super().partial_fit(X, Y)
        self.kept_ = X
        return self

    def _encode(self, Z: Any) -> Packed:
        return super()._encode(Z - self.kept_.mean())


class Grows(Broken):
    def partial_fit(self, X: Any, Y: Any = None) -> "Grows":
        super().partial_fit(X, Y)
        self.history_ = [*getattr(self, "history_", []), np.array(X)]
        return self


class IgnoresItsSeed(Broken):
    def _initialize(self, sample: Any) -> None:
        self.seed_ = int(np.random.default_rng().integers(1000))
        super()._initialize(sample)


class SharesState(Broken):
    shared: list[int] = []  # noqa: RUF012  (that is the fault)

    def _initialize(self, sample: Any) -> None:
        self.shared.append(len(self.shared))
        super()._initialize(sample)

    def _encode(self, Z: Any) -> Packed:
        return super()._encode(np.roll(Z, len(self.shared), axis=1))


class LearnsFromUnlabelledRows(Broken):
    def partial_fit(self, X: Any, Y: Any = None) -> "LearnsFromUnlabelledRows":
        super().partial_fit(X, Y)
        if self.initialized_:
            self.W_ = np.roll(self.W_, len(X), axis=1)
        return self


class TakesAnything(Broken):
    def _check_chunk(self, X: Any, Y: Any, *_: Any, **__: Any) -> Any:
        rows = np.nan_to_num(np.asarray(X, np.float32))[:, :24]
        return super()._check_chunk(rows, None)


class ForgetsOnDisk(Broken):
    def _state(self) -> Any:
        return {"W": self.W_ * 0}, {}


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (checks.check_unfitted_use_is_refused, EncodesTooEarly),
        (checks.check_codes_are_packed, SetsPadding),
        (checks.check_codes_do_not_depend_on_the_batch, DependsOnTheBatch),
        (checks.check_chunking_does_not_change_the_result, DependsOnTheChunks),
        (checks.check_input_is_not_changed, ChangesX),
        (checks.check_input_is_not_kept, KeepsX),
        (checks.check_memory_is_bounded, Grows),
        (checks.check_same_seed_same_codes, IgnoresItsSeed),
        (checks.check_clones_are_independent, SharesState),
        (checks.check_labels_are_free, LearnsFromUnlabelledRows),
        (checks.check_bad_input_is_refused_whole, TakesAnything),
        (checks.check_saved_and_loaded_is_the_same, ForgetsOnDisk),
    ],
)
def test_a_broken_hasher_is_caught(check: Callable[[Callable[[], Any]], None], broken: type[Broken]) -> None:
    check(Broken)
    with pytest.raises((AssertionError, ValueError)):
        check(broken)


def test_every_check_has_its_broken_hasher() -> None:
    of_this_file = test_a_broken_hasher_is_caught.pytestmark[0].args[1]
    assert [check for check, _ in of_this_file] == list(checks.CHECKS)
