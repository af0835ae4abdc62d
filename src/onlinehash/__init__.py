"""onlinehash: a binary similarity index whose codes learn while it serves.

The public names. They are imported when they are first used, so that ``import onlinehash`` itself
is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

__all__ = [
    "BSODH",
    "ITQ",
    "LSH",
    "OHWEU",
    "OKH",
    "OSH",
    "AccessError",
    "BusyError",
    "Client",
    "DataFileError",
    "HammingRanking",
    "Hits",
    "Index",
    "IndexClosedError",
    "IndexFileError",
    "IndexLockedError",
    "InvalidInputError",
    "InvalidParameterError",
    "MIHash",
    "MissingExtraError",
    "ModelFileError",
    "NotInitializedError",
    "OSupH",
    "OnlineHashError",
    "ReadOnlyError",
    "ServerError",
    "ShardsMissingError",
    "StorageError",
    "Triggered",
    "UnknownIdError",
    "check",
    "check_hasher",
    "mean_average_precision",
    "nearest",
]

if TYPE_CHECKING:
    from onlinehash.checks import check_hasher as check_hasher
    from onlinehash.client import Client as Client
    from onlinehash.errors import AccessError as AccessError
    from onlinehash.errors import BusyError as BusyError
    from onlinehash.errors import DataFileError as DataFileError
    from onlinehash.errors import IndexClosedError as IndexClosedError
    from onlinehash.errors import IndexFileError as IndexFileError
    from onlinehash.errors import IndexLockedError as IndexLockedError
    from onlinehash.errors import InvalidInputError as InvalidInputError
    from onlinehash.errors import InvalidParameterError as InvalidParameterError
    from onlinehash.errors import MissingExtraError as MissingExtraError
    from onlinehash.errors import ModelFileError as ModelFileError
    from onlinehash.errors import NotInitializedError as NotInitializedError
    from onlinehash.errors import OnlineHashError as OnlineHashError
    from onlinehash.errors import ReadOnlyError as ReadOnlyError
    from onlinehash.errors import ServerError as ServerError
    from onlinehash.errors import ShardsMissingError as ShardsMissingError
    from onlinehash.errors import StorageError as StorageError
    from onlinehash.errors import UnknownIdError as UnknownIdError
    from onlinehash.hashers.bsodh import BSODH as BSODH
    from onlinehash.hashers.itq import ITQ as ITQ
    from onlinehash.hashers.lsh import LSH as LSH
    from onlinehash.hashers.mihash import MIHash as MIHash
    from onlinehash.hashers.ohweu import OHWEU as OHWEU
    from onlinehash.hashers.okh import OKH as OKH
    from onlinehash.hashers.osh import OSH as OSH
    from onlinehash.hashers.osuph import OSupH as OSupH
    from onlinehash.hashers.trigger import Triggered as Triggered
    from onlinehash.index.check import check as check
    from onlinehash.index.index import Index as Index
    from onlinehash.index.results import Hits as Hits
    from onlinehash.kernels.scan import nearest as nearest
    from onlinehash.metrics import HammingRanking as HammingRanking
    from onlinehash.metrics import mean_average_precision as mean_average_precision


_HOMES = {
    "checks": ("check_hasher",),
    "client": ("Client",),
    "errors": tuple(name for name in __all__ if name.endswith("Error")),
    "hashers.bsodh": ("BSODH",),
    "hashers.itq": ("ITQ",),
    "hashers.lsh": ("LSH",),
    "hashers.mihash": ("MIHash",),
    "hashers.ohweu": ("OHWEU",),
    "hashers.okh": ("OKH",),
    "hashers.osh": ("OSH",),
    "hashers.osuph": ("OSupH",),
    "hashers.trigger": ("Triggered",),
    "index.check": ("check",),
    "index.index": ("Index",),
    "index.results": ("Hits",),
    "kernels.scan": ("nearest",),
    "metrics": ("HammingRanking", "mean_average_precision"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
