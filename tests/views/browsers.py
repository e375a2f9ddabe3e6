"""Chromium, driven by Playwright; where there is none, tests of pages say so and are not run."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("HEADLIGHT_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PATIENCE = 120_000
"""Milliseconds, on machines that do other work."""
ARGUMENTS = (
    "--no-sandbox", "--disable-background-networking", "--no-first-run", "--disable-gpu",
)  # fmt: skip

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium: install it (apt-get install chromium), or name it by "
        "HEADLIGHT_CHROMIUM",
    ),
]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=PATIENCE
        )
        for name in ("new_context", "new_page"):
            setattr(browser, name, _patient(getattr(browser, name)))
        yield browser
        browser.close()


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes a page, or pages, that wait as long as slow machines need."""

    def make_patient(**options: Any) -> Any:
        page = make(**options)
        page.set_default_timeout(PATIENCE)
        return page

    return make_patient


def settle(page: Any, milliseconds: int) -> None:
    """Let timers of a page that are due in so many milliseconds end, on machines of any speed."""
    page.evaluate("wait => new Promise(done => setTimeout(done, wait))", milliseconds)


class Opened:
    """A page in a browser, with what it said and asked for.

    Attributes:
        page: Playwright's.
        complaints: errors and messages of its console.
        requests: what it asked for, beside itself.
    """

    def __init__(self, browser: Any, path: Path, address: str = "", **options: Any) -> None:
        options.setdefault("viewport", {"width": 1440, "height": 1000})
        self.page = browser.new_context(**options).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{path.as_uri()}{address}")
        self.page.wait_for_selector("html[data-ready]")
        self.requests = [
            url for url in self.requests if not url.startswith(("file:", "blob:", "data:"))
        ]

    def text(self, selector: str) -> str:
        """What an element says."""
        return self.page.locator(selector).first.inner_text()

    @property
    def address(self) -> str:
        """After the ``#``; the page writes it when nothing has changed for 250 ms."""
        settle(self.page, 350)
        return str(self.page.evaluate("location.hash"))
