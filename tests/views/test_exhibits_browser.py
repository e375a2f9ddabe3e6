"""Pictures of a report in a real browser: the same head is ringed in all, and each is a file."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from headlight.views import exhibits_page
from headlight.views.exhibits import Exhibit, ExhibitsPage, Picture
from headlight.views.pictures import (
    HeadMap,
    LayerPanel,
    LayerSeries,
    head_map,
    points_by_layer,
    svg_text,
)
from views.browsers import chromium, needs_browser

pytestmark = needs_browser

VALUES = np.array([[0.1, 0.9, 0.3], [0.5, np.nan, 0.7]])


@pytest.fixture
def shown(tmp_path):
    """A map and a chart of the same heads, and a map of other heads of the same names."""
    cells = svg_text(head_map([HeadMap("Share", VALUES, named=True)]))
    dots = svg_text(points_by_layer([LayerPanel("Share", [LayerSeries("a", VALUES)], named=True)]))
    exhibits = [
        Exhibit(
            name,
            name,
            "",
            "",
            [Picture(f"{name}-{n}", "", "", svg) for n, svg in drawn],
            group=name,
        )
        for name, drawn in (("own", enumerate((cells, dots))), ("other", enumerate((cells,))))
    ]
    path = tmp_path / "page.html"
    path.write_text(exhibits_page(ExhibitsPage("Heads", "Ours.", exhibits)), encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        yield page, cells
        assert complaints == []


def test_a_head_is_ringed_in_all_pictures_of_its_kind_and_a_picture_is_a_file(shown) -> None:
    page, cells = shown
    drawing = page.locator("[data-name=own-0] .drawing")
    drawing.scroll_into_view_if_needed()
    left, top, width, _ = map(float, ElementTree.fromstring(cells).attrib["viewBox"].split())
    box = drawing.bounding_box()
    scale = box["width"] / width
    group = next(
        each for each in ElementTree.fromstring(cells).iter() if "L0H2" in each.attrib.get("id", "")
    )
    assert group.attrib["id"].split(".")[1:] == ["L0H0", "L0H1", "L0H2", "L1H0", "", "L1H2"]
    x, y = map(float, group[2].attrib["d"].split()[1:3])
    page.mouse.move(box["x"] + (x - left + 5) * scale, box["y"] + (y - top + 5) * scale)
    assert page.locator("#tooltip").text_content() == "L0H2"
    assert page.locator(".rings").count() == 2
    assert page.locator("[data-name=own-0] .rings rect").count() == 1
    ring = page.locator("[data-name=own-0] .rings rect").bounding_box()
    assert abs(ring["x"] - box["x"] - (x - left) * scale) < 3
    assert page.locator("[data-name=own-1] .rings circle").count() == 1
    page.mouse.move(2, 2)
    assert page.locator(".rings").count() == 0
    with page.expect_download() as download:
        page.click("[data-name=own-0] .save")
    assert download.value.suggested_filename == "own-0.svg"
    assert Path(download.value.path()).read_text(encoding="utf-8") == cells
