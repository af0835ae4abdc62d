"""The page in a real browser: what people do on it, with a mouse, with keys, on a phone, in the dark."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from onlinehash import Index
from onlinehash.server.app import make_app
from onlinehash.server.demo import PATH, make_demo
from onlinehash.server.digits import Digits, thumbnail
from onlinehash.server.keys import Keys
from tests.server import rules
from tests.server.browser import PATIENCE, axe, browser, chromium, must_or_skip, opened, serving

Open = Callable[..., Page]
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    if chromium() is None:
        must_or_skip("no Chromium is installed")
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def demo(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(make_demo(tmp_path_factory.mktemp("demo"))) as url:
        yield url


@pytest.fixture
def visit(chrome: Browser) -> Iterator[Open]:
    """Open a page in a fresh profile. In the end, nothing has gone to the console as an error.

    ``missing``: pictures that cannot be loaded are expected.
    """
    contexts, said, expected = [], [], []

    def begin(url: str, missing: bool = False, **how: Any) -> Page:
        expected.extend(["Failed to load resource"] if missing else [])
        contexts.append(chrome.new_context(reduced_motion="reduce", **how))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        return opened(page, url)

    yield begin
    for context in contexts:
        context.close()
    assert [text for text in said if not any(one in text for one in expected)] == []


@pytest.fixture
def paused(demo: str, chrome: Browser) -> str:
    """The demo, begun again, and waiting."""
    context = chrome.new_context()
    try:
        for order in ({"do": "restart"}, {"do": "pause", "pace": 12}):
            assert context.request.post(f"{demo}{PATH}", data=order, timeout=PATIENCE).ok
    finally:
        context.close()
    return demo


def order(page: Page) -> list[str]:
    """The ids of the results, as they stand."""
    keys: list[str] = page.eval_on_selector_all(
        "#results > li", "all => all.map(one => JSON.parse(one.dataset.key))"
    )
    return keys


def nearest(page: Page, id: str) -> list[str]:
    """The same, as the API says."""
    answer = page.request.post("/v1/indexes/digits/search", data={"ids": [id], "k": 36}, timeout=PATIENCE)
    return [hit["id"] for hit in answer.json()["hits"][0]]


def bits_of(page: Page, id: str) -> dict[str, Any]:
    answer = page.request.post("/v1/indexes/digits/items/codes", data={"ids": [id]}, timeout=PATIENCE)
    code: dict[str, Any] = answer.json()["codes"][0]
    return code


def tag_some(page: Page, word: str, *which: int) -> None:
    for number in which:
        page.locator("#results .tick input").nth(number).check()
    page.locator("#tag").fill(word)
    page.locator("#tagging [type=submit]").click()


def test_search_by_example_with_one_click(paused: str, visit: Open) -> None:
    page = visit(paused, base_url=paused)
    expect(page.locator("#gallery > li")).to_have_count(48)
    page.locator("#gallery .picture").nth(7).click()
    expect(page.locator("#results-title")).to_have_text("Like digit-0007")
    assert order(page) == nearest(page, "digit-0007")
    distances = [float(text) for text in page.locator("#results .distance").all_text_contents()]
    assert distances == sorted(distances)
    page.locator("#on").click()
    expect(page.locator("#page")).to_have_text("49 – 96")
    page.locator("#results .picture").nth(3).click()  # and a result is an example, too
    expect(page.locator("#results-title")).not_to_have_text("Like digit-0007")


def test_a_tag_changes_the_order_and_the_bits(paused: str, visit: Open) -> None:
    page = visit(paused, base_url=paused)
    page.locator("#gallery .picture").nth(3).click()
    expect(page.locator("#results-title")).to_have_text("Like digit-0003")
    before, code = order(page), bits_of(page, "digit-0003")
    tag_some(page, "mine", 0, 2, 5, 9)
    expect(page.locator("#news")).to_contain_text("generation 1 → 2: 1,797 codes refreshed in")
    expect(page.locator("#news")).to_contain_text("no vector read")
    expect(page.locator("#say")).to_contain_text("4 items tagged mine")
    expect(page.locator("#tagging")).to_be_hidden()
    assert order(page) != before
    assert order(page) == nearest(page, "digit-0003")
    now = bits_of(page, "digit-0003")
    assert now["base"] == code["base"]
    flipped = sum(a != b for a, b in zip(code["live_bits"], now["live_bits"], strict=True))
    expect(page.locator("#code .spot")).to_have_count(flipped)
    expect(page.locator("#code rect")).to_have_count(len(now["base_bits"]) + 2 * len(now["live_bits"]))
    expect(page.locator(".flips")).to_contain_text(f"{flipped} bit")
    page.locator("#filter-label").fill("mine")
    page.keyboard.press("Enter")
    expect(page.locator("#gallery > li")).to_have_count(4)


def settled(page: Page) -> Any:
    """The stream's state when the lesson that was under way as it was paused has been learnt."""
    before, same = None, 0
    while same < 3:
        state = page.request.get(PATH).json()
        same = same + 1 if state["history"] == before else 0
        before = state["history"]
        page.wait_for_timeout(500)
    return state


def test_the_stream_steps_plays_and_pauses(paused: str, visit: Open) -> None:
    page = visit(paused, base_url=paused)
    expect(page.locator("#stream-count")).to_have_text("0 of 1,500 labelled")
    page.locator("#step").click()
    expect(page.locator("#stream-count")).to_have_text("25 of 1,500 labelled")
    expect(page.locator("#generation")).to_have_text("generation 2")
    page.locator("#pace").select_option("at once")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Pause")
    expect(page.locator("#stream-count")).to_have_text(re.compile(r"^(75|[1-9]\d\d|1,\d+) of"))
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Play")
    state = settled(page)
    assert not state["playing"]
    assert state["pace"] == 0
    assert state["labelled"] >= 75
    expect(page.locator("#stream-progress")).to_have_js_property("value", state["labelled"])
    expect(page.locator("#chart figure")).to_have_count(3)
    expect(page.locator("#chart")).to_contain_text(f"{state['history'][-1]['map']:.3f}")
    assert page.locator("#table tr").count() >= 4
    page.reload()
    expect(page.locator("#chart")).to_contain_text(f"{state['history'][-1]['map']:.3f}")
    page.evaluate("window.stays = true")
    page.wait_for_timeout(1500)
    assert page.evaluate("window.stays"), "events from before it came made the page load again"


def test_light_and_dark(paused: str, visit: Open) -> None:
    page = visit(paused, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.locator("#theme").select_option("Light")
    light = page.evaluate(colour)
    assert dark != light
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate(colour) == light
    expect(page.locator("#theme")).to_have_value("light")


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_scrolling_sideways(paused: str, visit: Open, width: int) -> None:
    page = visit(paused, viewport={"width": width, "height": 780}, has_touch=True, is_mobile=True)
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) == width
    page.locator("#gallery .picture").nth(2).tap()
    expect(page.locator("#results-title")).to_have_text("Like digit-0002")
    page.locator("#results .tick").nth(0).tap()
    expect(page.locator("#tagging")).to_be_visible()
    assert page.evaluate(wide) == width


def test_keys_are_enough(paused: str, visit: Open) -> None:
    page = visit(paused, base_url=paused)
    active = "document.activeElement"

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"{active}.matches({selector!r})"):
                assert page.evaluate(f"getComputedStyle({active}).outlineStyle") != "none", (
                    "focus is not seen"
                )
                return
        raise AssertionError(f"the tab key does not come to {selector}")

    tab_to("#gallery .picture")
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    chosen = page.evaluate(f"{active}.getAttribute('aria-label')")
    assert "digit-0000" not in chosen
    page.keyboard.press("Enter")
    expect(page.locator("#results-title")).to_have_text(f"Like {chosen[13:-1]}")
    tab_to("#results .picture")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("#ticked")).to_have_text("2 items ticked")
    tab_to("#tag")
    page.keyboard.type("by keys")
    page.keyboard.press("Enter")
    expect(page.locator("#news")).to_contain_text("generation 1 → 2")
    expect(page.locator("#results-title")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(paused: str, visit: Open, scheme: str) -> None:
    page = visit(paused, base_url=paused, color_scheme=scheme)
    page.locator("#step").click()
    expect(page.locator("#generation")).to_have_text("generation 2")
    page.locator("#results .tick input").nth(1).check()
    page.locator("summary").click()
    assert page.evaluate(rules.BROKEN) == []
    page.evaluate(axe())
    found = page.evaluate("axe.run().then(all => all.violations)")
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []


SVG = "http://www.w3.org/2000/svg"
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


def test_what_comes_from_data_is_never_markup(visit: Open, tmp_path: Path) -> None:
    digits = Digits.load()
    media = tmp_path / "media" / "a folder"
    media.mkdir(parents=True)
    (media / "ä #1.svg").write_text(f'<svg xmlns="{SVG}" width="9" height="9"/>')
    payloads: list[dict[str, Any] | None] = [
        {"title": HOSTILE, "thumbnail": "javascript:window.hacked=1"},
        {"name": HOSTILE, "url": "data:text/html,<script>parent.hacked=1</script>"},
        {"thumbnail": thumbnail(digits.X[2]) + HOSTILE},
        {"thumbnail": f"data:image/svg+xml,<svg xmlns='{SVG}' onload='parent.hacked=1'/>"},
        {"path": "a folder/ä #1.svg"}, {"title": 5, "thumbnail": ["no"]}, None, {"path": "C:\\none"},
    ]  # fmt: skip
    ids: list[str | int] = [HOSTILE, "../..", "a/b?c#d", 7, "7", " ", "é", "\u202e"]
    with Index.create(tmp_path / "odd.oh", sample=digits.X[:300], n_bits=16) as index:
        index.add(ids, digits.X[: len(ids)], [[HOSTILE]] * len(ids), payloads)
    with serving(make_app(tmp_path, media=tmp_path / "media")) as url:
        page = visit(url, missing=True)
        expect(page.locator("#gallery > li")).to_have_count(len(ids))
        for number in range(len(ids)):
            page.locator("#gallery .picture").nth(number).click()
            expect(page.locator("#gallery [aria-current]")).to_have_count(1)
            expect(page.locator(f"#gallery > li:nth-child({number + 1}) [aria-current]")).to_have_count(1)
            expect(page.locator("#example-labels")).to_have_text(HOSTILE)
        page.locator("#gallery .picture").first.click()
        expect(page.locator("#results-title")).to_have_text(f"Like {HOSTILE}")
        tag_some(page, HOSTILE, 0, 1)
        expect(page.locator("#news")).to_contain_text("generation 1 → 2")
        media_picture = page.locator("#gallery > li:nth-child(5) img")
        expect(media_picture).to_have_js_property("naturalWidth", 9)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img[onerror], main iframe, main a").count() == 0


def test_the_page_asks_for_a_key(chrome: Browser, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    (tmp_path / "dot.svg").write_text(f'<svg xmlns="{SVG}" width="9" height="9"/>')
    with Index.create(tmp_path / "secret.oh", sample=X, n_bits=8) as index:
        index.add(range(60), X, payloads=[{"path": "dot.svg"}] * 60)
    keys = Keys(write=["a key of sixteen characters".replace(" ", "-")])
    with serving(make_app(tmp_path, keys=keys, media=tmp_path)) as url:
        context = chrome.new_context(reduced_motion="reduce")
        try:
            page = context.new_page()
            page.goto(url)
            for key in ("not-the-key-of-this-server", "a-key-of-sixteen-characters"):
                expect(page.locator("#ask")).to_be_visible()
                expect(page.locator("#key")).to_have_value("")
                page.locator("#key").fill(key)
                page.keyboard.press("Enter")
            expect(page.locator("#gallery > li")).to_have_count(48)
            expect(page.locator("#gallery img").first).to_have_js_property("naturalWidth", 9)
            tag_some(page, "mine", 0)
            expect(page.locator("#news")).to_contain_text("generation 1 → 2")
        finally:
            context.close()


def test_modules_never_set_markup() -> None:
    folder = Path(__file__).parents[2] / "src" / "onlinehash" / "server" / "page"
    modules = list(folder.glob("*.js"))
    assert len(modules) > 10
    for module in modules:
        text = module.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "http://",
            "https://",
        ):
            assert way not in text.replace(SVG, ""), (module.name, way)


def test_thumbnails_are_pictures() -> None:
    from base64 import b64decode
    from io import BytesIO

    from PIL import Image

    x = np.zeros(64, np.float32)
    x[0] = 16
    with Image.open(BytesIO(b64decode(thumbnail(x).split(",")[1]))) as picture:
        shown = np.asarray(picture.convert("L"))
    assert shown.shape == (32, 32)
    assert shown[0, 0] < 60
    assert shown[-1, -1] > 200
