"""Every error of the package, one tree.

OnlineHashError
├── InvalidInputError      data in a form, width or type that was not expected
│                          (also a ValueError and a TypeError)
├── InvalidParameterError  a parameter's value that cannot be used (also a ValueError)
├── NotInitializedError    used before the initial sample is complete
│                          (also scikit-learn's NotFittedError)
├── ModelFileError         a model file that is truncated, foreign, damaged or newer
│                          (also a ValueError)
├── DataFileError          a file of features, labels or annotations that is missing, truncated,
│                          foreign, or does not say what was asked of it (also a ValueError)
└── MissingExtraError      a part of the ecosystem that is not installed (also an ImportError)
"""

from __future__ import annotations

from sklearn.exceptions import NotFittedError


class OnlineHashError(Exception):
    """The root of all errors that onlinehash raises on purpose."""


class InvalidInputError(OnlineHashError, ValueError, TypeError):
    """Data was refused. It says what was given and what was expected; no state has changed."""


class InvalidParameterError(OnlineHashError, ValueError):
    """A parameter's value cannot be used, by itself or with the data at hand."""


class NotInitializedError(OnlineHashError, NotFittedError):  # type: ignore[misc]
    """A hasher was used before it had its initial sample."""


class ModelFileError(OnlineHashError, ValueError):
    """A model file cannot be read: truncated, foreign, damaged, or from a newer version."""


class DataFileError(OnlineHashError, ValueError):
    """A user's data file cannot be read, or can be read in more ways than one."""


class MissingExtraError(OnlineHashError, ImportError):
    """A package is needed that comes with one of the extras of onlinehash. It names the extra."""
