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
├── MissingExtraError      a part of the ecosystem that is not installed (also an ImportError)
├── UnknownIdError         an id that is not in the index (also a KeyError)
├── IndexFileError         an index file that is foreign, damaged or newer (also a ValueError)
├── IndexLockedError       a second writer on an index file
├── IndexClosedError       an index that is closed, or was opened before a fork
├── ReadOnlyError          a change to an index that was opened for reading
├── ShardsMissingError     parts of an index on many machines do not answer in time
├── StorageError           the disk is full or fails; the index is as it was (also an OSError)
└── ServerError            a server that cannot be reached, or cannot do now what was asked
    ├── BusyError          its queue is full: try again later
    └── AccessError        it asks for another key, or for one at all
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


class UnknownIdError(OnlineHashError, KeyError):
    """An id is not in the index; nothing was changed."""

    def __str__(self) -> str:  # a KeyError would show the sentence in quotation marks
        return str(self.args[0])


class IndexFileError(OnlineHashError, ValueError):
    """An index file cannot be served: not an index, damaged, or from a newer version."""


class IndexLockedError(OnlineHashError):
    """An index file is open for writing already; it can be opened for reading."""


class IndexClosedError(OnlineHashError):
    """An index was used after it was closed, or in a process that forked from its own."""


class ReadOnlyError(OnlineHashError):
    """A change was asked of an index that was opened for reading."""


class ShardsMissingError(OnlineHashError):
    """Parts of an index on many machines have not answered in the time that was given."""


class StorageError(OnlineHashError, OSError):
    """The disk is full or fails. The change was rolled back; the index is open and as it was."""


class ServerError(OnlineHashError):
    """A server cannot be reached, or cannot do now what was asked."""


class BusyError(ServerError):
    """A server has as much to do as it takes on. ``retry_after`` is when to ask again, in seconds."""

    def __init__(self, text: str, retry_after: float = 1.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class AccessError(ServerError):
    """A server asks for a key, or for one that may do more."""
