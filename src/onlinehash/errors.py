"""Every error of the package, one tree.

OnlineHashError
├── InvalidInputError      data in a form, width or type that was not expected
│                          (also a ValueError and a TypeError)
├── InvalidParameterError  a parameter's value that cannot be used (also a ValueError)
├── NotInitializedError    used before the initial sample is complete
│                          (also scikit-learn's NotFittedError)
└── ModelFileError         a model file that is truncated, foreign, damaged or newer
                           (also a ValueError)
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
