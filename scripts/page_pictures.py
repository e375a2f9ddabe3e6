"""Make the pictures of pages again, with Chromium.

    python scripts/page_pictures.py FOLDER [NAME ...]

FOLDER is that of ``make site``, ``build/examples``: what it lacks is made there first.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from example_pages import ROOT, make
from PIL import Image

sys.path.insert(0, str(ROOT / "tests"))
from views.browsers import chromium

IMAGES = ROOT / "docs" / "images"


@dataclass(frozen=True)
class Shot:
    """A part of a page, as the documentation shows it.

    Attributes:
        page: the page, in the folder of example pages.
        size: of the window, in pixels; all of it is shown.
        address: behind the page's name, as ``#L4H7``.
        part: the element at which the window begins, by its selector.
    """

    page: str
    size: tuple[int, int]
    address: str = ""
    part: str = ""


SHOTS: Mapping[str, Shot] = {
    "reading": Shot("reading.html", (1360, 900)),
    "pair": Shot("pair.html", (1360, 900)),
    "report": Shot("survey/report.html", (1360, 900)),
    "head": Shot("survey/report.html", (1220, 1100), "#L4H7", "[data-part=card]"),
    "flow": Shot("flow.html", (1100, 560)),
    "compare": Shot("comparison/report.html", (1240, 900)),
    "pages/generate": Shot("generation.html", (1100, 720)),
    "pages/routes": Shot("routes.html", (1100, 720)),
    "pages/predict": Shot("prediction.html", (1100, 720)),
    "pages/explain": Shot("reason.html", (1100, 720)),
    "pages/sources": Shot("sources.html", (1100, 720)),
    "pages/faithfulness": Shot("faithfulness/report.html", (1100, 720)),
}
"""By the name of the picture in ``docs/images``."""


def shot(browser: Any, folder: Path, chosen: Shot) -> bytes:
    """Return what a window shows of a page, as PNG."""
    width, height = chosen.size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.goto((folder / chosen.page).as_uri() + chosen.address)
    page.wait_for_timeout(1000)  # pages draw themselves when they have been loaded
    if chosen.part:
        part = page.locator(chosen.part).first.element_handle()
        page.evaluate(
            "(part) => scrollTo(0, part.getBoundingClientRect().top + scrollY - 12)", part
        )
    drawn: bytes = page.screenshot()
    page.close()
    return drawn


def main(folder: Path, names: list[str]) -> None:
    """Those that are named, or all."""
    chosen = {name: SHOTS[name] for name in names or SHOTS}
    missing = [each.page for each in chosen.values() if not (folder / each.page).exists()]
    if missing:
        make(folder, [page.removesuffix("/report.html") for page in missing])
    with chromium() as browser:
        for name, each in chosen.items():
            path = IMAGES / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            # A palette is enough for a page, and a third of the size.
            Image.open(BytesIO(shot(browser, folder, each))).quantize(128).save(path, optimize=True)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
