"""Pages in a browser, for tests that look at them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headlight.views import reading_page
from views.browsers import Opened


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens files; at the end none has complained, or asked for anything beside itself."""
    opened: list[Opened] = []

    def of(path: Path, address: str = "", **options: Any) -> Opened:
        opened.append(Opened(browser, path, address, **options))
        return opened[-1]

    yield of
    for each in opened:
        assert each.complaints == []
        assert each.requests == []
        each.page.context.close()


@pytest.fixture
def show(open_page: Callable[..., Opened], tmp_path: Path) -> Callable[..., Opened]:
    """Opens the page of a reading: its maps and all tokens, unless the address says otherwise."""

    def of(
        reading: Any,
        address: str = "",
        *,
        megabytes: float | None = None,
        corpus: Any = None,
        second: Any = None,
        **options: Any,
    ) -> Opened:
        page = reading_page(reading, second=second, megabytes=megabytes, corpus=corpus)
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        parts = [part for part in address.removeprefix("#").split("&") if part]
        if not any(part.startswith("v=") for part in parts):
            parts.append("v=maps")
        if reading.attrs.get("kind") != "decoder" and "s=" not in address:
            parts.append("s=shown")
        return open_page(tmp_path / "page.html", f"#{'&'.join(parts)}", **options)

    return of
