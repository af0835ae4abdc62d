"""What is typed on a command line, as ids, labels and filters."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from onlinehash.errors import InvalidInputError

if TYPE_CHECKING:
    from onlinehash.index.index import Index

_NUMBER = re.compile(r"0|-?[1-9][0-9]*")


def word(text: str) -> str | int:
    """A whole number, or text; in double quotes it is text whatever it looks like.

    >>> word("7"), word('"7"'), word("7.jpg"), word("007")
    (7, '7', '7.jpg', '007')
    """
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return int(text) if _NUMBER.fullmatch(text) else text


def ids(index: Index, texts: list[str]) -> list[str | int]:
    """Ids: a number that is no item's id is the text of its digits, where that is one."""
    return [text if text in index and word(text) not in index else word(text) for text in texts]


def filter(text: str | None) -> Any:
    """What ``--where`` says, in JSON."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"--where: expected JSON like '{{\"year\": 2020}}', got {text!r} ({error})"
        ) from error
