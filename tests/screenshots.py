"""``python -m tests.screenshots``: takes the pictures of docs/page.md."""

from __future__ import annotations

import re
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from onlinehash.server.demo import PATH, make_demo
from tests.server.browser import PATIENCE, browser, opened, serving

FOLDER = Path(__file__).parents[1] / "docs" / "images"
EXAMPLE, STEPS = 10, 11  # which item, and how many chunks of labels have streamed in


def main() -> None:
    """Take them all."""
    expect.set_options(timeout=PATIENCE)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(make_demo(Path(folder))) as url,
        browser() as chrome,
    ):
        page = _page(chrome, url, {"width": 1440, "height": 900})
        page.locator("#gallery .picture").nth(EXAMPLE).click()
        for step in range(1, STEPS + 1):
            page.locator("#step").click()
            expect(page.locator("#stream-count")).to_have_text(re.compile(f"^{25 * step} of"))
        expect(page.locator("#generation")).to_have_text(f"generation {STEPS + 1}")
        page.wait_for_timeout(2000)  # the results are looked at again, and have moved
        _save(page.screenshot(), "light")
        for number in (0, 1, 4):
            page.locator("#results .tick input").nth(number).check()
        page.locator("#tag").fill("favourite")
        _save(page.screenshot(), "tagging")
        page.locator("#tagging [type=submit]").click()
        expect(page.locator("#generation")).to_have_text(f"generation {STEPS + 2}")
        page.wait_for_timeout(2000)
        page.locator("#theme").select_option("Dark")
        _save(page.screenshot(), "dark")
        page.locator("#theme").select_option("Light")
        _save(page.locator("aside > section:last-child").screenshot(), "code")
        phone = _page(chrome, url, {"width": 390, "height": 844}, is_mobile=True, has_touch=True)
        phone.locator("#gallery .picture").nth(EXAMPLE).click()
        phone.wait_for_timeout(2000)
        phone.evaluate("scrollTo(0, 0)")
        _save(phone.screenshot(), "phone")


def _page(chrome: Browser, url: str, viewport: Any, **how: Any) -> Page:
    context = chrome.new_context(viewport=viewport, reduced_motion="reduce", color_scheme="light", **how)
    assert context.request.post(f"{url}{PATH}", data={"do": "pause"}, timeout=PATIENCE).ok
    return opened(context.new_page(), url)


def _save(png: bytes, name: str) -> None:
    """With a palette: small, and the means of its clusters keep colours that are rare."""
    with Image.open(BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE)
        few.save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
