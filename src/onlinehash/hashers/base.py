"""The grammar that all hashers share: ``partial_fit``, ``encode``, ``encode_query``.

A hasher keeps its first ``n_init`` rows, learns what is fixed for ever from them (the features'
centre, the base hash), then learns from them and from every later row, of which it keeps nothing.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, validate_data

from onlinehash.codes import Bits, Packed, check_n_bits, packed_to_bits
from onlinehash.errors import InvalidInputError, InvalidParameterError, NotInitializedError
from onlinehash.hashers import model_file
from onlinehash.hashers.features import Features
from onlinehash.labels import LabelRows, label_rows

Floats = npt.NDArray[np.float32]

_INPUT = ("n_features_in_", "feature_names_in_")
_SLICE = 1024  # rows that are centred, hashed and learnt from at once, to bound memory


class OnlineHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all hashers.

    A method implements ``_initialize(sample)``, ``_encode(Z)`` and, where they differ,
    ``_learn(Z, labels)`` and ``_encode_query(Z)``. ``Z`` are centred and scaled features.

    Two facts about a method are attributes of its class: ``learns_from`` says which rows it learns
    from, ``refreshes_from`` what must be read of every stored item to bring its code up to date.

    Attributes
    ----------
    initialized_ : bool, whether the initial sample is complete
    features_ : Features, once initialised
    n_seen_ : int, rows received so far
    seed_ : int, what ``random_state`` came to
    """

    learns_from: ClassVar[Literal["nothing", "labels", "features"]] = "labels"
    refreshes_from: ClassVar[Literal["nothing", "base codes", "features"]] = "features"

    n_bits: int
    n_init: int
    centre: Any
    unit_norm: bool
    random_state: Any

    _sample: list[Floats]  # the rows kept until the initial sample is complete
    _sample_labels: list[LabelRows]

    # ---- what a user calls

    def partial_fit(self, X: npt.ArrayLike, Y: Any = None) -> Self:
        """Learn from a chunk of any size. ``Y``: see ``onlinehash.labels``; None for no labels."""
        with self._all_or_nothing():
            X, labels = self._check_chunk(X, Y)
            if not hasattr(self, "_sample"):
                self._begin()
            self.n_seen_ += len(X)
            if not self.initialized_:
                missing = self.n_init - sum(len(chunk) for chunk in self._sample)
                self._sample = [*self._sample, X[:missing].copy()]
                self._sample_labels = [*self._sample_labels, labels[:missing]]
                if len(X) < missing:
                    return self
                self._start_from(np.concatenate(self._sample))
                X, labels = X[missing:], labels[missing:]
            self._learn_rows(X, labels)
        return self

    def fit(self, X: npt.ArrayLike, Y: Any = None) -> Self:
        """Forget everything and learn from X in one pass; fewer than ``n_init`` rows will do."""
        with self._all_or_nothing():
            X, labels = self._check_chunk(X, Y, anew=True)
            self._begin()
            self.n_seen_ = len(X)
            self._start_from(X[: self.n_init])
            self._learn_rows(X, labels)
        return self

    def initialize(self, X: npt.ArrayLike | None = None) -> Self:
        """Take X, or the rows kept so far, as the initial sample instead of awaiting ``n_init`` rows.

        X is neither learnt from nor counted as seen; rows kept so far are then learnt from.
        """
        if self.initialized_:
            raise InvalidInputError(f"{type(self).__name__} is initialised already: its base hash is fixed")
        with self._all_or_nothing():
            if X is not None:
                X, _ = self._check_chunk(X, None, n_init=True)
            elif not getattr(self, "_sample", []):
                raise NotInitializedError(f"{type(self).__name__}: no rows to initialise from; pass X")
            if not hasattr(self, "_sample"):
                self._begin()
            self._start_from(np.concatenate(self._sample) if X is None else X)
        return self

    def encode(self, X: npt.ArrayLike) -> Packed:
        """Codes of items to be stored, packed: (n, ceil(n_bits / 8)) uint8."""
        return self._in_slices(X, self._encode)

    def encode_query(self, X: npt.ArrayLike) -> Packed:
        """Codes of queries, packed. They are compared with those of ``encode``."""
        return self._in_slices(X, self._encode_query)

    def transform(self, X: npt.ArrayLike) -> Bits:
        """``encode`` as scikit-learn's pipelines like it: one column of 0/1 a bit."""
        return packed_to_bits(self.encode(X), self.n_bits)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all that has been learnt to one file (``hashers/model_file.py``)."""
        model_file.write(path, type(self).__name__, *self.state())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a hasher that ``save`` has written; it encodes and learns on as if never gone."""
        return cls.from_state(*model_file.read(path, cls.__name__))

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """All that has been learnt: arrays, and what JSON can hold."""
        self._check_initialized()
        arrays, learnt = self._state()
        arrays = {"centre": self.features_.centre, **arrays}
        parameters = self.plain_parameters()
        if not isinstance(parameters.get("centre", True), bool):
            parameters["centre"] = True  # the array itself is in ``arrays``
        return arrays, {
            "parameters": parameters,
            "learnt": {"seed": self.seed_, "n_seen": self.n_seen_, **learnt},
        }

    def plain_parameters(self) -> dict[str, Any]:
        """The parameters as JSON can hold them; ``random_state`` as the number that it came to."""
        parameters = self.get_params(deep=False)
        if not isinstance(parameters.get("centre", True), bool):
            parameters["centre"] = np.asarray(parameters["centre"], np.float32).tolist()
        if not isinstance(parameters["random_state"], (int, np.integer)):
            parameters["random_state"] = getattr(self, "seed_", None) or _seed(self.random_state)
        return {name: _plain(value) for name, value in parameters.items()}

    @classmethod
    def from_state(cls, arrays: dict[str, npt.NDArray[Any]], content: dict[str, Any]) -> Self:
        """The hasher that ``state`` describes."""
        hasher = cls(**content["parameters"])
        learnt = content["learnt"]
        hasher._begin()
        hasher.seed_, hasher.n_seen_ = learnt["seed"], learnt["n_seen"]
        hasher.features_ = Features(arrays["centre"], hasher.unit_norm)
        hasher.n_features_in_ = len(arrays["centre"])
        hasher._n_features_out = hasher.n_bits
        hasher._restore(arrays, learnt)
        return hasher

    @property
    def initialized_(self) -> bool:
        """Whether the initial sample is complete: from then on ``encode`` can be called."""
        return hasattr(self, "features_")

    # ---- what a method implements

    @abstractmethod
    def _initialize(self, sample: Floats) -> None:
        """Set up learnt state from the initial sample's features Z."""

    @abstractmethod
    def _encode(self, Z: Floats) -> Packed: ...

    def _encode_query(self, Z: Floats) -> Packed:
        return self._encode(Z)

    @abstractmethod
    def _state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays, and other learnt values that JSON can hold."""

    @abstractmethod
    def _restore(self, arrays: dict[str, npt.NDArray[Any]], learnt: dict[str, Any]) -> None:
        """Take back what ``_state`` gave."""

    def _learn(self, Z: Floats, labels: LabelRows) -> None:
        """Learn from features and labels, in order."""
        raise NotImplementedError(type(self).__name__)

    def _check_parameters(self, n_init: int, width: int) -> None:
        """Refuse parameters that cannot be used with ``n_init`` rows of ``width`` features."""
        check_n_bits(self.n_bits)
        check_int(self, "n_init", 2)
        if n_init < 2:
            raise InvalidInputError(f"expected 2 rows or more to initialise from, got n_samples = {n_init}")

    # ---- how it works

    def _begin(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and name not in _INPUT]:
            delattr(self, name)
        self.seed_ = _seed(self.random_state)
        self.n_seen_ = 0
        self._sample, self._sample_labels = [], []

    def _start_from(self, sample: Floats) -> None:
        """Fix what is fixed for ever, then learn from the rows kept, and let go of them."""
        features = Features.learn(sample, self.centre, self.unit_norm)
        self._check_parameters(len(sample), sample.shape[1])
        self._initialize(features(sample))
        self.features_ = features
        self._n_features_out = self.n_bits
        chunks, self._sample = self._sample, []
        labels, self._sample_labels = self._sample_labels, []
        for X, of_chunk in zip(chunks, labels, strict=True):
            self._learn_rows(X, of_chunk)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """On an error, put every attribute back. What is learnt in place is checked before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _learn_rows(self, X: Floats, labels: LabelRows) -> None:
        if self.learns_from == "nothing":
            return
        labelled = labels.labelled
        for start in range(0, len(X), _SLICE):
            if self.learns_from == "features" or labelled[start : start + _SLICE].any():
                of = slice(start, start + _SLICE)
                self._learn(self.features_(X[of]), labels[of])

    def _in_slices(self, X: npt.ArrayLike, encode: Any) -> Packed:
        self._check_initialized()
        X = self._check_X(X)
        return np.concatenate(
            [encode(self.features_(X[start : start + _SLICE])) for start in range(0, len(X), _SLICE)]
        )

    def _check_initialized(self) -> None:
        if not self.initialized_:
            have = sum(len(chunk) for chunk in getattr(self, "_sample", []))
            raise NotInitializedError(
                f"{type(self).__name__} needs {self.n_init} rows before it can hash, and has {have}: "
                "call partial_fit with more, or initialize() to begin with fewer"
            )

    def _check_chunk(
        self, X: Any, Y: Any, anew: bool = False, n_init: bool = False
    ) -> tuple[Floats, LabelRows]:
        """Check X and Y whole. ``anew``: whatever was seen before; ``n_init``: X is the initial sample."""
        given = X
        first = anew or not hasattr(self, "n_features_in_")
        X = self._check_X(X, reset=first)
        labels = label_rows(Y, len(X))
        if first:
            sample = len(X) if n_init else min(len(X), self.n_init) if anew else self.n_init
            self._check_parameters(sample, X.shape[1])
            validate_data(self, given, skip_check_array=True)  # takes note of width and names
        return X, labels

    def _check_X(self, X: Any, reset: bool = False) -> Floats:
        if not reset and self._is_checked(X):
            return X  # type: ignore[no-any-return]
        try:
            if reset:
                checked = check_array(X, dtype=np.float32, order="C", estimator=self, input_name="X")
            else:
                checked = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(str(error)) from error
        array: Floats = checked
        return array

    def _is_checked(self, X: Any) -> bool:
        """Whether scikit-learn's checks would find nothing to do, which takes them 0.1 ms."""
        if not (
            type(X) is np.ndarray
            and X.dtype == np.float32
            and X.ndim == 2
            and X.shape == (max(1, len(X)), getattr(self, "n_features_in_", None))
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
        ):
            return False
        with np.errstate(invalid="ignore", over="ignore"):
            return bool(np.isfinite(X.sum()))

    def __sklearn_is_fitted__(self) -> bool:
        return self.initialized_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def check_positive(hasher: OnlineHasher, *names: str) -> None:
    """Refuse parameters that are not finite numbers above 0."""
    for name in names:
        value = getattr(hasher, name)
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float, np.number))
            or not 0 < value < np.inf
        ):
            raise InvalidParameterError(f"{name} must be a finite number above 0, got {value!r}")


def check_int(hasher: OnlineHasher, name: str, least: int) -> None:
    """Refuse a parameter that is not an int of ``least`` or more."""
    value = getattr(hasher, name)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidParameterError(f"{name} must be an int of {least} or more, got {value!r}")


def _seed(random_state: Any) -> int:
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise InvalidParameterError(
        f"random_state must be None, an int of 0 or more, a RandomState or a Generator, got {random_state!r}"
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
