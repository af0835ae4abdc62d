"""Pictures of every kind, good and bad."""

import base64
import importlib.util
import io
import warnings
import zlib
from pathlib import Path
from struct import pack

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from onlinehash.images.picture import UnusableError, quiet, read_picture, thumbnail
from tests.images.conftest import picture


def test_a_large_jpeg_is_decoded_at_a_smaller_scale(tmp_path: Path) -> None:
    found = read_picture(picture(tmp_path / "a.jpg", 0, (1600, 1200)), 200)
    assert (found.width, found.height) == (1600, 1200)
    assert 200 <= min(found.image.size) < 600


def test_it_is_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90°
    path = picture(tmp_path / "a.jpg", 0, (60, 40), exif=exif)
    found = read_picture(path, 40)
    assert (found.width, found.height) == found.image.size == (40, 60)


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(tmp_path / "a.png")
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([0, 0, 0, 9, 9, 9])
    palette.save(tmp_path / "p.png", transparency=0)
    for name in ("a.png", "p.png"):
        assert read_picture(tmp_path / name, 4).image.getpixel((1, 1)) == (255, 255, 255)


def test_grey_and_16_bits(tmp_path: Path) -> None:
    Image.new("L", (4, 4), 77).save(tmp_path / "l.png")
    Image.fromarray(np.full((4, 4), 77 * 257, np.uint16)).save(tmp_path / "i.png")
    Image.new("CMYK", (4, 4)).save(tmp_path / "c.jpg")
    assert read_picture(tmp_path / "l.png", 4).image.getpixel((0, 0)) == (77, 77, 77)
    assert read_picture(tmp_path / "i.png", 4).image.getpixel((0, 0)) == (77, 77, 77)
    assert read_picture(tmp_path / "c.jpg", 4).image.getpixel((0, 0)) == (255, 255, 255)
    Image.new("F", (4, 4)).save(tmp_path / "f.tiff")
    with pytest.raises(UnusableError, match="pixels of mode F"):
        read_picture(tmp_path / "f.tiff", 4)


def test_animated_and_several_pages(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    for name in ("a.gif", "a.webp", "a.png", "a.tiff"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        with pytest.raises(UnusableError, match="animated, or several pages: 2 frames"):
            read_picture(tmp_path / name, 9)
    frames[0].save(tmp_path / "still.gif")
    assert read_picture(tmp_path / "still.gif", 9).image.mode == "RGB"
    frames[0].save(tmp_path / "phone.jpg", "MPO", save_all=True, append_images=frames[1:])
    assert read_picture(tmp_path / "phone.jpg", 9).image.size == (9, 9)


def bomb(path: Path, side: int) -> Path:
    """A PNG whose header announces a side of so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b""))
    return path


@pytest.mark.parametrize("side", [10_100, 13_000, 60_000])
def test_decompression_bombs(tmp_path: Path, side: int) -> None:
    with quiet(), pytest.raises(UnusableError, match="too large"):
        read_picture(bomb(tmp_path / "a.png", side), 8)


@pytest.mark.parametrize("form", ["jpg", "png", "webp", "gif", "bmp", "tiff"])
def test_truncated_and_changed_files_are_refused_or_read(tmp_path: Path, form: str) -> None:
    data = picture(tmp_path / f"a.{form}", 0).read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / f"b.{form}"
    refused = 0
    with quiet():
        for i in range(60):
            changed = bytearray(data)
            if i % 2:
                del changed[rng.integers(len(data)) :]
            else:
                for at in rng.integers(len(data), size=5):
                    changed[at] = rng.integers(256)
            path.write_bytes(changed)
            try:
                assert read_picture(path, 8).image.mode == "RGB"
            except UnusableError as error:
                refused += len(str(error)) > 0
    assert refused > 20


def test_other_files_under_a_picture_s_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    for data in (b"", b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"%PDF-1.4"):
        path.write_bytes(data)
        with pytest.raises(UnusableError, match="not a picture, or damaged"):
            read_picture(path, 8)


def test_heif_says_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "a.heic"
    if importlib.util.find_spec("pillow_heif"):
        importlib.import_module("pillow_heif").register_heif_opener()
        Image.new("RGB", (64, 64), "blue").save(path)
        assert read_picture(path, 8).image.size == (64, 64)
    else:
        path.write_bytes(b"\0\0\0\x1cftypheic\0\0\0\0mif1heic")
        with pytest.raises(UnusableError, match="a HEIF picture needs pillow-heif"):
            read_picture(path, 8)


def test_keywords_from_exif_iptc_and_xmp(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x9C9E] = "sea;Küste\0".encode("utf-16-le")
    xmp = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>sea</rdf:li>'
        "<rdf:li>boat</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    path = picture(tmp_path / "a.jpg", 0, exif=exif, xmp=xmp.encode())
    record = b"".join(b"\x1c\x02\x19" + pack(">H", len(word)) + word for word in (b"sun", b"sea"))
    block = (
        b"Photoshop 3.0\x008BIM\x04\x04\0\0" + pack(">I", len(record)) + record + b"\0" * (len(record) % 2)
    )
    data = path.read_bytes()
    path.write_bytes(data[:2] + b"\xff\xed" + pack(">H", len(block) + 2) + block + data[2:])
    assert read_picture(path, 8).keywords == ["sea", "Küste", "sun", "boat"]

    note = PngImagePlugin.PngInfo()
    note.add_itxt("XML:com.adobe.xmp", xmp)
    assert read_picture(picture(tmp_path / "a.png", 0, pnginfo=note), 8).keywords == ["sea", "boat"]
    evil = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>' + xmp.replace("boat", "&a;")
    assert read_picture(picture(tmp_path / "b.jpg", 0, xmp=evil.encode()), 8).keywords == []
    broken = picture(tmp_path / "c.jpg", 0, exif=exif, xmp=b"<x:xmpmeta")
    assert read_picture(broken, 8).keywords == ["sea", "Küste"]


def test_thumbnails_are_small_data_uris(tmp_path: Path) -> None:
    image = read_picture(picture(tmp_path / "a.jpg", 0, (600, 400)), 320).image
    uri = thumbnail(image, 100)
    assert uri == thumbnail(image, 100)
    head, data = uri.split(",")
    assert head == "data:image/webp;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (100, 67)


def test_being_quiet_ends() -> None:
    with quiet():
        warnings.warn("too large", Image.DecompressionBombWarning, stacklevel=1)
    with pytest.warns(Image.DecompressionBombWarning):
        warnings.warn("too large", Image.DecompressionBombWarning, stacklevel=1)
