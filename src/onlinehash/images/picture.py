"""One picture file, decoded as the eye sees it; what cannot be used is refused with a reason."""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash.images.extra import extra
from onlinehash.images.find import HEIF
from onlinehash.images.keywords import keywords

MAX_PIXELS = 100_000_000
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # none that runs other programs
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)


class UnusableError(Exception):
    """A file that is no picture that can be embedded; it says why."""


@dataclass(frozen=True, slots=True)
class Picture:
    """RGB, upright. ``width`` and ``height`` are the file's, the pixels may be fewer."""

    image: Any
    width: int
    height: int
    keywords: list[str]


def read_picture(path: str | os.PathLike[str], least: int) -> Picture:
    """Decode a picture, at a smaller scale where that is quicker, with ``least`` pixels a side or more."""
    pil = extra("PIL.Image")
    try:
        with pil.open(path, formats=_formats()) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise UnusableError(f"too large: {width} × {height} pixels, more than {MAX_PIXELS:,}")
            if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":  # that is how phones write stills
                raise UnusableError(f"animated, or several pages: {image.n_frames} frames")
            words = keywords(image)
            orientation = _orientation(image)
            image.draft("RGB", (least, least))
            upright = _rgb(extra("PIL.ImageOps").exif_transpose(image) if orientation > 1 else image)
    except UnusableError:
        raise
    except pil.DecompressionBombError as error:
        raise UnusableError(f"too large: more than {MAX_PIXELS:,} pixels") from error
    except pil.UnidentifiedImageError as error:
        if Path(path).suffix.lower() in HEIF and "HEIF" not in _formats():
            raise UnusableError("a HEIF picture needs pillow-heif, which is not installed") from error
        raise UnusableError("not a picture, or damaged") from error
    except Exception as error:  # decoders of damaged files raise all kinds
        raise UnusableError(
            f"damaged: {error}" if str(error) else f"damaged: {type(error).__name__}"
        ) from error
    if orientation in _TURNED:
        width, height = height, width
    return Picture(upright, width, height, words)


def thumbnail(image: Any, size: int) -> str:
    """A small WebP as a data URI, ``size`` pixels at its longer side at most."""
    small = image.copy()
    small.thumbnail((size, size))
    data = io.BytesIO()
    small.save(data, "WEBP", quality=70)
    return "data:image/webp;base64," + base64.b64encode(data.getvalue()).decode()


@contextmanager
def quiet() -> Iterator[None]:
    """Pillow warns of what is odd in a file; we say it ourselves, or do not mind. For the whole process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        warnings.simplefilter("ignore", extra("PIL.Image").DecompressionBombWarning)
        yield


@cache
def _formats() -> tuple[str, ...]:
    try:
        import_module("pillow_heif").register_heif_opener()
    except ImportError:
        return _FORMATS
    return (*_FORMATS, "HEIF")


def _orientation(image: Any) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # a damaged note about a picture does not damage it
        return 1


def _rgb(image: Any) -> Any:
    """Transparent parts on white; 16 bits a pixel as 8."""
    pil = extra("PIL.Image")
    if image.mode.startswith("I;16"):
        return pil.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise UnusableError(f"pixels of mode {image.mode}, which says not what is white")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = pil.new("RGBA", layer.size, "white")
        return pil.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")
