"""A tiny vision model, and pictures that the tests make themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from onlinehash.images import Embedder

DIM = 12


def tiny_model(path: Path, side: int = 8, layout: str = "NCHW") -> Path:
    """The means of 2 × 2 fields of each channel: 12 features."""
    shape = [1, 3, side, side] if layout == "NCHW" else [1, side, side, 3]
    nodes = []
    name = "pictures"
    if layout == "NHWC":
        nodes.append(helper.make_node("Transpose", [name], ["t"], perm=[0, 3, 1, 2]))
        name = "t"
    half = side // 2
    nodes += [
        helper.make_node("AveragePool", [name], ["pooled"], kernel_shape=[half, half], strides=[half, half]),
        helper.make_node("Flatten", ["pooled"], ["features"]),
    ]
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, DIM])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    path.with_suffix(".toml").write_text(f'size = {side}\nmean = 127\nscale = 128\nlayout = "{layout}"\n')
    return path


def picture(path: Path, seed: int, size: tuple[int, int] = (60, 40), **how: Any) -> Path:
    """A picture of two colours and some noise."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 40, (size[1], size[0], 3)) + rng.integers(0, 200, 3)
    pixels[:, : size[0] // 2] = rng.integers(0, 255, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path, **how)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny.onnx")


@pytest.fixture(scope="session")
def embedder(model: Path) -> Embedder:
    return Embedder(model)


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Two folders of pictures, six in all."""
    folder = tmp_path / "album"
    for i in range(3):
        picture(folder / "sea" / f"{i}.jpg", i)
        picture(folder / "wood" / "oak" / f"{i}.png", 10 + i)
    return folder
