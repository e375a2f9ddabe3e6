"""Pages of all kinds as axe sees them, light and dark, on a desk and on a telephone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

import headlight
from headlight.views.parts import Comparison, Drawing, Section, Table
from headlight.views.pictures import BarRow, HeadMap, Mark, bars, head_map
from headlight.views.reading.routes_page import routes_page
from headlight.views.result_page import result_page
from headlight.views.sections import SectionPage, section_page
from views.browsers import needs_browser, settle
from views.sample_results import survey_sample
from views.sample_routes import sample_routes

pytestmark = needs_browser

BELOW_THE_BUTTON = """() => {
  const button = document.querySelector(".theme").getBoundingClientRect(), words = [];
  const texts = document.createTreeWalker(document.querySelector("header"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const lies = (box) => box.right > button.left && box.left < button.right
      && box.bottom > button.top && box.top < button.bottom;
    if (texts.currentNode.parentElement.closest(".theme")) continue;
    if ([...range.getClientRects()].some(lies)) words.push(texts.currentNode.data);
  }
  return words;
}"""
"""The words of the head of a page that the button of colours lies on."""


def study_of_all_parts() -> str:
    """Return a page with maps, bars, tables, comparisons and notes, as studies and papers have."""
    shares = np.random.default_rng(0).random((3, 4))
    row = BarRow("L0H1 to [SEP]", [Mark("one", 0.4, 0.3, 0.5), Mark("two", 0.8, 0.7, 0.9)])
    drawings = [
        Drawing("map", "", "Shares.", lambda: head_map([HeadMap("Share", shares)])),
        Drawing("bars", "Bars.", "Bars.", lambda: bars([row])),
    ]
    frame = pd.DataFrame({"layer": range(9), "head": range(9), "share": np.linspace(0, 1, 9)})
    tables = [Table("long", "All", frame), Table("short", "Some", frame.head(2))]
    sections = [
        Section("one", "One", "What it is.", "A paper, Table 1", drawings, tables),
        Section("two", "Two", "What else.", "", comparisons=[Comparison("share", 0.4, 0.5)],
                notes=["Of one seed."]),
    ]  # fmt: skip
    page = SectionPage("Heads", "Ours.", sections, [("examples", "3")], [("three", "no data")],
                       findings=["L0H1 is the most."], terms=[("weight", "α", "V.")])  # fmt: skip
    return section_page(page)


def gallery(folder: Path) -> str:
    headlight.gallery([survey_sample(2, 3)], folder / "gallery")
    return (folder / "gallery" / "index.html").read_text(encoding="utf-8")


PAGES = {
    "report": lambda _: result_page(survey_sample(3, 4)),
    "study": lambda _: study_of_all_parts(),
    "routes": lambda _: routes_page(sample_routes()),
    "gallery": gallery,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_all_can_use_a_page(browser, tmp_path, kind):
    (tmp_path / "page.html").write_text(PAGES[kind](tmp_path), encoding="utf-8")
    folder = tmp_path / "gallery" if kind == "gallery" else tmp_path
    path = folder / ("index.html" if kind == "gallery" else "page.html")
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            page = context.new_page()
            page.goto(path.as_uri())
            settle(page, 400)  # pages draw themselves when they have been loaded
            problems = Axe().run(page).response["violations"]
            assert [(each["id"], each["nodes"][0]["target"]) for each in problems] == []
            assert page.evaluate(BELOW_THE_BUTTON) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            context.close()
