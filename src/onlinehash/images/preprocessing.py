"""What is done to a picture before a model sees it, as a small file beside the model says.

    size = [224, 224]       # width and height that the model takes; one number for a square
    resize = "squeeze"      # the whole picture, its sides bent to fit; or
                            # "crop": the shorter side fits, the middle is cut out; or "pad": the longer
                            # side fits, the rest is filled with the mean
    filter = "bilinear"     # nearest, bilinear, bicubic or lanczos
    mean = 127              # subtracted from pixels of 0 to 255: a number, or one for each channel
    scale = 128             # then divided by
    channels = "RGB"        # or "BGR"
    layout = "NCHW"         # or "NHWC"

All but ``size`` may be left out; these are the defaults, but for mean 0 and scale 1. The file is
TOML or JSON.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import DataFileError
from onlinehash.images.extra import extra

Triple = tuple[float, float, float]

_CHOICES = {
    "resize": ("squeeze", "crop", "pad"),
    "filter": ("nearest", "bilinear", "bicubic", "lanczos"),
    "channels": ("RGB", "BGR"),
    "layout": ("NCHW", "NHWC"),
}


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a picture becomes numbers."""

    size: tuple[int, int]
    resize: str = "squeeze"
    filter: str = "bilinear"
    mean: Triple = (0, 0, 0)
    scale: Triple = (1, 1, 1)
    channels: str = "RGB"
    layout: str = "NCHW"

    @classmethod
    def beside(cls, model: Path) -> Preprocessing:
        """From the file that has the model's name and ends with .toml or .json."""
        for path in (model.with_suffix(".toml"), model.with_suffix(".json")):
            if path.is_file():
                return cls.read(path)
        raise DataFileError(
            f"{model.with_suffix('.toml')}: expected there, or as .json, what is done to a picture first, "
            'for instance: size = [224, 224], resize = "squeeze", mean = 127, scale = 128'
        )

    @classmethod
    def read(cls, path: Path) -> Preprocessing:
        """From a TOML or JSON file."""
        try:
            found = (tomllib if path.suffix == ".toml" else json).loads(path.read_text(encoding="utf-8"))
            return cls.of(found)
        except (ValueError, OSError) as error:  # of the parsers, and of ``of``
            raise DataFileError(f"{path}: {error}") from error

    @classmethod
    def of(cls, found: Any) -> Preprocessing:
        """From what such a file holds; a ValueError says what is wrong."""
        names = [field.name for field in fields(cls)]
        if not isinstance(found, dict) or not set(found) <= set(names) or "size" not in found:
            raise ValueError(f"expected size and any of {', '.join(names[1:])}, got {found!r:.100}")
        made = dict(found)
        size = found["size"] if isinstance(found["size"], list) else [found["size"]] * 2
        if len(size) != 2 or not all(type(side) is int and 0 < side <= 4096 for side in size):
            raise ValueError(f"size: expected a width and a height of 1 to 4096, got {found['size']!r}")
        made["size"] = tuple(size)
        for name in ("mean", "scale"):
            if name in found:
                made[name] = _triple(found[name], name)
        for name, choices in _CHOICES.items():
            if name in found and found[name] not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {found[name]!r}")
        return cls(**made)

    def array(self, image: Any) -> npt.NDArray[np.float32]:
        """An RGB picture as the model takes it, float32 of (1, 3, height, width) or (1, height, width, 3)."""
        pixels = np.asarray(self.fitted(image), np.float32)
        z = (pixels - np.array(self.mean, np.float32)) / np.array(self.scale, np.float32)
        if self.channels == "BGR":
            z = z[:, :, ::-1]
        if self.layout == "NCHW":
            z = z.transpose(2, 0, 1)
        return np.ascontiguousarray(z[None])

    def fitted(self, image: Any) -> Any:
        """The picture at the model's size."""
        operations, pil = extra("PIL.ImageOps"), extra("PIL.Image")
        method = getattr(pil.Resampling, self.filter.upper())
        if self.resize == "crop":
            return operations.fit(image, self.size, method)
        if self.resize == "pad":
            colour = tuple(round(min(255, max(0, value))) for value in self.mean)
            return operations.pad(image, self.size, method, color=colour)
        return image.resize(self.size, method)


def _triple(value: Any, name: str) -> Triple:
    values = value if isinstance(value, list) else [value] * 3
    numbers = all(type(one) in (int, float) and np.isfinite(one) for one in values)
    if len(values) != 3 or not numbers or (name == "scale" and 0 in values):
        raise ValueError(f"{name}: expected a number, or one for each of red, green and blue; got {value!r}")
    return (float(values[0]), float(values[1]), float(values[2]))
