"""Pictures to vectors, by an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import DataFileError
from onlinehash.images.default import default_model
from onlinehash.images.extra import extra
from onlinehash.images.picture import UnusableError, quiet, read_picture
from onlinehash.images.preprocessing import Preprocessing

Floats = npt.NDArray[np.float32]


class Embedder:
    """A vision model. Many threads may use it.

    A picture is embedded by itself on one thread, so that its vector does not depend on which pictures
    come with it; pictures are embedded side by side.

    Parameters
    ----------
    model : path of an ONNX model that takes one picture and gives one vector; None for the default one
    preprocessing : what is done to a picture first; None for what the file beside the model says
    """

    def __init__(
        self, model: str | os.PathLike[str] | None = None, preprocessing: Preprocessing | None = None
    ) -> None:
        path = default_model() if model is None else Path(model)
        if not path.is_file():
            raise DataFileError(f"{path}: there is no such model")
        self.name = path.stem
        self.preprocessing = preprocessing or Preprocessing.beside(path)
        runtime = extra("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own are derived from nothing in particular
            raise DataFileError(f"{path}: not an ONNX model that can be run ({error})") from error
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise DataFileError(f"{path}: expected a model of one input, got {len(inputs)}")
        self._input = inputs[0].name
        blank = extra("PIL.Image").new("RGB", self.preprocessing.size)
        try:
            self.dim = len(self.vector(blank))
        except DataFileError as error:
            raise DataFileError(f"{path}: {error}") from error

    def vector(self, image: Any) -> Floats:
        """The vector of a Pillow image in RGB."""
        array = self.preprocessing.array(image)
        try:
            found = np.asarray(self._session.run(None, {self._input: array})[0], np.float32)
        except Exception as error:
            raise DataFileError(
                f"{self.name} cannot take an input of shape {array.shape} ({error})"
            ) from error
        if found.size != max(found.shape, default=0) or found.size < 2:
            raise DataFileError(f"{self.name}: expected one vector a picture, got an output of {found.shape}")
        return found.reshape(-1)

    def embed(self, paths: Iterable[str | os.PathLike[str]]) -> Floats:
        """The vectors of picture files, one row each."""
        rows = []
        with quiet():
            for path in paths:
                try:
                    rows.append(self.vector(read_picture(path, self.least).image))
                except UnusableError as error:
                    raise DataFileError(f"{os.fspath(path)}: {error}") from error
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

    @property
    def least(self) -> int:
        """Pixels a side that a picture should be decoded with at least: twice what the model sees."""
        return 2 * max(self.preprocessing.size)
