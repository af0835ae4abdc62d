"""Keywords that people and programs have written into a picture: EXIF, IPTC, XMP."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

from onlinehash.images.extra import extra

_XP_KEYWORDS = 0x9C9E  # EXIF, as Windows writes it: UTF-16, separated by semicolons
_IPTC_KEYWORDS = (2, 25)
_SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
_LI = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
_LONGEST = 200


def keywords(image: Any) -> list[str]:
    """The keywords of an opened picture, each once. A damaged note is passed over."""
    found: list[str] = []
    for read in (_exif, _iptc, _xmp):
        with suppress(Exception):  # these parts are often damaged, and the picture is none the worse
            found += read(image)
    names = (word.strip(" \t\r\n\0") for word in found)
    return list(dict.fromkeys(word for word in names if 0 < len(word) <= _LONGEST))


def _exif(image: Any) -> list[str]:
    value = image.getexif().get(_XP_KEYWORDS, b"")
    return bytes(value).decode("utf-16-le").split(";")


def _iptc(image: Any) -> list[str]:
    found = (extra("PIL.IptcImagePlugin").getiptcinfo(image) or {}).get(_IPTC_KEYWORDS, [])
    return [part.decode() for part in (found if isinstance(found, list) else [found])]


def _xmp(image: Any) -> list[str]:
    data = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    text = data if isinstance(data, str) else bytes(data).decode()
    if "<!" in text:  # no declaration belongs there, and entities could grow without bound
        return []
    tree = ElementTree.fromstring(text.strip("\0 \n\r\t"))
    return [item.text or "" for subject in tree.iter(_SUBJECT) for item in subject.iter(_LI)]
