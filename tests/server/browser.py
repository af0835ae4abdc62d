"""A headless Chromium, and servers for it to look at."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, sync_playwright

from onlinehash.server.run import bind, make_server, url_of

REQUIRED = "ONLINEHASH_BROWSER_REQUIRED"  # set where a missing browser is a failure
PATIENCE = 60_000  # milliseconds, for machines that have much else to do
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--font-render-hinting=none",
)  # fmt: skip


def chromium() -> str | None:
    """Where it is."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def must_or_skip(what: str) -> None:
    """Fail where it is required, and skip elsewhere."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what}, and {REQUIRED} is set")
    pytest.skip(what)


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """An app in a thread, and its address."""
    listening = bind("127.0.0.1", 0, False)
    server = make_server(app)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield url_of(listening)
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


def opened(page: Page, url: str) -> Page:
    """A page that has shown what there is."""
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    return page


def axe() -> str:
    """The source of axe-core, from the package that brings it."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
