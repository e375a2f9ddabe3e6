"""Pictures of a report in a real browser: the same head is ringed in all, and each is a file."""

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from headlight.views.parts import Drawing, Section, Table
from headlight.views.pictures import (
    BarRow,
    Box,
    BoxPanel,
    DensityPanel,
    Embedding,
    HeadMap,
    Line,
    LinePanel,
    LinkDrawing,
    Mark,
    Reference,
    attention_lines,
    bars,
    boxes,
    dendrogram,
    density,
    embedding,
    head_map,
    lines,
    svg_text,
)
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer
from headlight.views.section_pages import SectionPage, section_page
from long_cases import mostly_long
from views.browsers import needs_browser
from views.dark import check_dark_pictures

pytestmark = needs_browser

VALUES = np.array([[0.1, 0.9, 0.3], [0.5, np.nan, 0.7]])


@pytest.fixture
def shown(tmp_path, browser):
    """A map and a chart of the same heads, and a map of other heads of the same names."""
    cells = svg_text(head_map([HeadMap("Share", VALUES, named=True)]))
    dots = svg_text(points_by_layer([LayerPanel("Share", [LayerSeries("a", VALUES)], named=True)]))
    exhibits = [
        Section(
            name,
            name,
            "",
            "",
            [Drawing(f"{name}-{n}", "", "", lambda: None, drawn=svg) for n, svg in drawn],
            group=name,
        )
        for name, drawn in (("own", enumerate((cells, dots))), ("other", enumerate((cells,))))
    ]
    path = tmp_path / "page.html"
    path.write_text(section_page(SectionPage("Heads", "Ours.", exhibits)), encoding="utf-8")
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


def drawings() -> list[object]:
    """One of each way of drawing."""
    random = np.random.default_rng(0)
    names = ["a", "b", "c"]
    x = np.arange(5)
    layers = [LayerSeries(name, random.random((5, 3))) for name in ("weight", "other")]
    curve = [Line(name, x, random.random(5), x / 9, x / 5, marked=True) for name in names]
    square = random.random((3, 3))
    merges = np.array([[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 0.5, 3.0]])
    return [
        head_map([HeadMap("A", square, scale=scale) for scale in ("weight", "norm", "change")]),
        head_map([HeadMap("Many", random.random((50, 60)))]),
        points_by_layer([LayerPanel("A", layers, references=[Reference(0.5, "half")])] * 2),
        lines([LinePanel("A", curve, "x", "y")]),
        bars([BarRow(n, [Mark("a", 0.5, 0.4, 0.6)], {"fixed": 0.3}, "L0H1") for n in names]),
        boxes([BoxPanel("A", [Box.from_values(name, random.random(20)) for name in names])]),
        density([DensityPanel.from_pairs("A", random.random(500), random.random(500))]),
        embedding([Embedding("A", random.random((3, 2)), names, {0: "L0H0"})]),
        embedding([Embedding("A", random.random((3, 2)), names, ordered=True)]),
        dendrogram(merges, names, names),
        attention_lines([LinkDrawing("A", names, names, square, highlighted=[1], faint=[2])]),
    ]


@pytest.mark.long
def test_pictures_follow_a_dark_page(tmp_path, browser) -> None:
    drawn = [
        Drawing(f"p{n}", "", f"p{n}", lambda each=each: each) for n, each in enumerate(drawings())
    ]
    page = section_page(SectionPage("All", "Ours.", [Section("all", "All", "", "", drawn)]))
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    assert check_dark_pictures(browser, path) == len(drawn)


@pytest.mark.parametrize("case", mostly_long(["pale", "covered", "as its bar"], "pale"))
def test_a_text_that_cannot_be_read_on_a_dark_page_is_noticed(tmp_path, case, browser) -> None:
    def draw() -> object:
        figure = lines([LinePanel("A", [Line("a", np.arange(3), np.arange(3))], "x", "y")])
        axes = figure.axes[0]
        # A line in strong colours runs through the box of the text.
        axes.axhline(1, color="black", lw=2)
        axes.text(1, 1, "hidden", color="#eeeeee" if case == "pale" else "black", va="center")
        if case != "pale":
            over = case == "covered"
            axes.axhspan(0.8, 1.2, color="#dddddd" if over else "black", zorder=9 if over else 1)
        return figure

    drawn = [Drawing("p", "", "p", draw)]
    page = section_page(SectionPage("All", "Ours.", [Section("all", "All", "", "", drawn)]))
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    with pytest.raises(AssertionError, match="'hidden' has a contrast"):
        check_dark_pictures(browser, path)


def test_on_a_phone_panels_stand_one_below_the_other(tmp_path, browser) -> None:
    x, names = np.arange(3), ["one line", "another line", "a third line", "and a fourth"]
    panels = [LinePanel(name, [Line(each, x, x) for each in names]) for name in "ABC"]
    drawn = [Drawing("three", "", "Three.", lambda: lines(panels))]
    page = section_page(SectionPage("All", "Ours.", [Section("all", "All", "", "", drawn)]))
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    for scripts in (True, False):
        phone = browser.new_context(
            viewport={"width": 390, "height": 800}, java_script_enabled=scripts
        ).new_page()
        phone.goto(path.as_uri())
        # As large as in a file, where no word is smaller than 11 pixels.
        natural = phone.locator(".paper > .drawing").evaluate(
            "(each) => parseFloat(each.style.getPropertyValue('--wide'))"
        )
        assert phone.evaluate("document.documentElement.scrollWidth") == 390
        columns = [each.bounding_box() for each in phone.locator(".column").all()]
        if scripts:
            assert len(columns) == 3
            assert sum(each["width"] for each in columns) == pytest.approx(natural, abs=1)
            assert all(one["y"] + one["height"] < two["y"] for one, two in pairwise(columns))
            pictures = phone.locator(".column .drawing").all()
            for column, shown in zip(columns, pictures, strict=True):
                wide = shown.bounding_box()
                place = (column["x"] - wide["x"]) / wide["width"]
                assert place == pytest.approx(columns.index(column) / 3, abs=0.02)
            phone.set_viewport_size({"width": 1440, "height": 800})
            phone.wait_for_selector(".column", state="detached")
            assert phone.locator(".drawing").is_visible()
        else:
            assert not columns
            wide = phone.locator(".drawing").bounding_box()["width"]
            assert wide == pytest.approx(natural, abs=1)


def test_on_a_phone_drawings_of_links_stand_one_below_the_other(tmp_path, browser) -> None:
    words = ["the", "old", "bridge", "was", "closed"]
    drawings = [LinkDrawing(f"L1H{head}", words, words, np.eye(5)) for head in range(3)]
    drawn = [Drawing("links", "", "Links.", lambda: attention_lines(drawings))]
    page = section_page(SectionPage("All", "Ours.", [Section("all", "All", "", "", drawn)]))
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    phone = browser.new_page(viewport={"width": 390, "height": 800})
    phone.goto(path.as_uri())
    columns = [each.bounding_box() for each in phone.locator(".column").all()]
    assert len(columns) == 3
    assert all(one["y"] + one["height"] < two["y"] for one, two in pairwise(columns))


@pytest.mark.parametrize("scheme", mostly_long(["light", "dark"], "light"))
def test_on_a_phone_a_wide_table_is_stacked_and_a_narrow_one_stays(
    tmp_path, scheme, browser
) -> None:
    wide = pd.DataFrame({f"column {n}": [n, n + 0.5] for n in range(12)})
    tables = [Table("wide", "Wide", wide), Table("narrow", "Narrow", wide.iloc[:, :2])]
    folded = Table("folded", "Folded", pd.concat([wide] * 9))
    exhibit = Section("all", "All", "", "", tables=[*tables, folded])
    path = tmp_path / "page.html"
    path.write_text(section_page(SectionPage("All", "Ours.", [exhibit])), encoding="utf-8")
    phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    phone.goto(path.as_uri())
    first, second, third = (phone.locator(".sheet").nth(n) for n in range(3))
    phone.locator("main details summary").last.click()
    for sheet in (first, third):
        sheet.locator("th[data-name]").first.wait_for()
        assert sheet.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    cell = first.locator("td").nth(4)
    name = "(each) => getComputedStyle(each, '::before').content"
    assert (cell.inner_text(), cell.evaluate(name)) == ("5.00", '"column 5"')
    assert second.locator("thead").is_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    phone.set_viewport_size({"width": 1440, "height": 800})
    first.locator("thead").wait_for()
    assert not first.evaluate("(each) => each.classList.contains('stacked')")
