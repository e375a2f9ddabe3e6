"""The page of a paper: safe, whole, and with the numbers that it was given."""

import json
import math
import re
from base64 import b64decode
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from headlight.errors import UsageError
from headlight.views import comparison_table
from headlight.views.parts import Comparison, Drawing, Section, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer
from headlight.views.provenance import provenance
from headlight.views.section_pages import SectionPage, section_page
from views.pages import Page

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x1b[31m"


def drawing(seed: int = 0) -> Any:
    values = np.random.default_rng(seed).random((3, 2))
    panels = [
        LayerPanel(name, [LayerSeries("a", values), LayerSeries("b", values)]) for name in "AB"
    ]
    return points_by_layer(panels)


def hatched() -> Any:
    return head_map([HeadMap("A", np.array([[0.1, np.nan]]))])


FRAME = pd.DataFrame(
    {"relation": ["det", "dobj"], "head": ["7-10", "7-9"], "accuracy": [94.31, 86.8],
     "offset": [1, -2], "baseline": [51.7, np.nan]}
)  # fmt: skip
EXHIBIT = Section(
    "table-1",
    "Heads and relations",
    "The best head of each relation.",
    "Clark et al. (2019), Table 1",
    drawings=[Drawing("a", "One", "first", drawing), Drawing("b", "", "second", drawing)],
    tables=[
        Table("best", "Best heads", FRAME, {"accuracy": ".1f", "offset": "+d"}, [(1, "accuracy")])
    ],
    comparisons=[
        Comparison("dobj", 86.8, 61.32, "%", "UD has obj"),
        Comparison("best head", "8-10", "2-3"),
        Comparison("entropy", 3.89, None, "nats", digits=2),
    ],
    notes=["Another treebank."],
    files=["table-1.csv"],
)


def page_of(*exhibits: Section, **settings: object) -> str:
    return section_page(SectionPage("A paper", "Ours.", exhibits, **settings))


def printed(exhibit: Section, width: int = 80) -> str:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(comparison_table(exhibit))
    return capture.get()


class TestPage:
    def test_one_file_that_loads_nothing(self):
        text = page_of(EXHIBIT)
        page = Page(text)
        addresses = [str(e.attributes["src"]) for e in page.elements if "src" in e.attributes]
        assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
        assert page.all("link") == []
        assert not re.search(r"url\(|srcset|@import|https?://", text)
        assert "<!DOCTYPE" not in text
        assert "<?xml" not in text
        policy = next(e for e in page.all("meta") if "http-equiv" in e.attributes)
        assert str(policy.attributes["content"]).startswith("default-src 'none';")
        assert text.startswith("<!doctype html>")

    def test_no_two_elements_share_an_id_and_every_link_leads_somewhere(self):
        other = Section("figure-2", "F", "E", "S", drawings=[Drawing("a", "", "x", hatched)] * 2)
        page = Page(page_of(EXHIBIT, other, missing=[("Table 2", "no corpus")]))
        ids = [str(e.attributes["id"]) for e in page.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        hrefs = [str(e.attributes["href"]) for e in page.elements if "href" in e.attributes]
        inner = {href[1:] for href in hrefs if href.startswith("#")}
        assert inner
        assert inner <= set(ids)

    @pytest.mark.slow
    @pytest.mark.drawn
    def test_pictures_are_images_that_say_what_they_show(self):
        page = Page(page_of(EXHIBIT))
        drawings = page.all("img")
        assert [e.attributes["alt"] for e in drawings] == ["first", "second"]
        address, picture = str(drawings[0].attributes["src"]), EXHIBIT.drawings[0]
        assert address.startswith("data:image/svg+xml;base64,")
        assert b64decode(address.partition(",")[2]).decode() == picture.svg
        assert [e.text for e in page.all("figcaption")] == ["One"]

    def test_published_beside_ours(self):
        page = Page(page_of(EXHIBIT))
        rows = [e.text for e in page.all("td")]
        assert rows[:4] == ["86.8%", "61.3%", "−25.5", "UD has obj"]
        assert rows[4:8] == ["8-10", "2-3", "–", ""]
        assert rows[8:12] == ["3.89\u00a0nats", "–", "–", ""]
        plain = Section("t", "T", "E", "S", comparisons=[Comparison("a", 1, 2, digits=0)])
        assert "note" not in [e.text for e in Page(page_of(plain)).all("th")]

    def test_tables_show_formatted_numbers_to_sort_by(self):
        page = Page(page_of(EXHIBIT))
        cells = {e.text: e.attributes for e in page.all("td") if "data-v" in e.attributes}
        assert cells["94.3"]["data-v"] == "94.31"
        assert cells["86.8"]["class"] == "strong"
        assert cells["−2"]["data-v"] == "-2.0"
        assert [e.attributes.get("class") for e in page.all("td") if e.text == "7-9"] == ["words"]
        assert page.by_id("table-table-1.0").attributes["class"] == "sortable"

    def test_a_wide_table_of_one_row_stands(self):
        row = pd.DataFrame({name: [at + 0.25] for at, name in enumerate("abcde")})
        page = Page(page_of(Section("t", "T", "E", "S", tables=[Table("one", "One", row)])))
        shown = [each.text for each in page.elements if each.tag in ("td", "th")]
        assert shown[2:] == ["a", "0.250", "b", "1.25", "c", "2.25", "d", "3.25", "e", "4.25"]

    def test_long_tables_are_folded_away(self):
        long = Table("all", "All heads", pd.DataFrame({"head": range(144), "UAS": np.ones(144)}))
        page = Page(page_of(Section("t", "T", "E", "S", tables=[long])))
        assert [e.text.strip() for e in page.all("summary")] == [
            "Contents",
            "All heads",
            "How this was made, and how to cite it",
        ]
        assert all("details" in e.inside for e in page.all("td"))
        assert page_of(EXHIBIT).count("<details>") == 0

    def test_contents_notes_files_facts_and_what_is_missing(self):
        text = page_of(
            EXHIBIT,
            facts=[("treebank", "EWT dev")],
            missing=[("Table 2", "No coreference corpus was given.")],
            attributes={"model": "tiny", "versions": json.dumps({"torch": "2.6"}), "treebank": "E"},
            command="headlight reproduce clark2019",
        )
        page = Page(text)
        addresses = {str(e.attributes["href"]): e.text for e in page.all("a")}
        assert addresses["#table-1"] == "Heads and relations"
        assert addresses["table-1.csv"] == "table-1.csv"
        assert {"EWT dev", "No coreference corpus was given.", "tiny", "2.6", "E"} <= {
            e.text for e in page.all("dd")
        }
        assert "Another treebank." in [e.text for e in page.all("li")]
        assert "headlight reproduce clark2019" in [e.text for e in page.all("code")]

    def test_hostile_text_stays_text(self):
        exhibit = Section(
            "figure-1", HOSTILE, HOSTILE, HOSTILE,
            drawings=[Drawing(HOSTILE, HOSTILE, HOSTILE, drawing)],
            tables=[Table(HOSTILE, HOSTILE, pd.DataFrame({HOSTILE: [HOSTILE, 1]}), note=HOSTILE)],
            comparisons=[Comparison(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
            notes=[HOSTILE], files=[HOSTILE, "javascript:alert(1)", "https://example.org/x"],
        )  # fmt: skip
        attributes = {"model": HOSTILE, HOSTILE: HOSTILE, "versions": HOSTILE}
        pair = [(HOSTILE, HOSTILE)]
        made = SectionPage(HOSTILE, HOSTILE, [exhibit], pair, pair, attributes, HOSTILE)
        page = Page(section_page(made))
        assert len(page.all("script")) == 2
        assert [e.attributes["alt"] for e in page.all("img")] == [HOSTILE]
        assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
        addresses = [str(e.attributes["href"]) for e in page.all("a")]
        assert not [a for a in addresses if ":" in a]
        assert page.all("h1")[0].text == HOSTILE

    def test_an_empty_page_is_a_page(self):
        assert Page(page_of()).all("main")

    def test_names_are_checked(self):
        with pytest.raises(UsageError, match="share the name 'table-1'"):
            SectionPage("A", "", [EXHIBIT, EXHIBIT])
        with pytest.raises(UsageError, match="cannot be called 'figure 2'"):
            SectionPage("A", "", [Section("figure 2")])


class TestComparisons:
    @pytest.mark.parametrize(
        ("published", "ours", "difference"),
        [(86.8, 61.3, -25.5), (65, 60.5, -4.5), ("8-10", 1.0, None), (1.0, None, None),
         (1.0, math.nan, None), (None, 1.0, None)],
    )  # fmt: skip
    def test_the_difference_is_ours_minus_theirs(self, published, ours, difference):
        found = Comparison("a", published, ours).difference
        assert found == (None if difference is None else pytest.approx(difference))

    @pytest.mark.parametrize(
        ("ours", "shown"), [(5.0, "0"), (4.98, "0"), (5.02, "0"), (6.0, "+1.0")]
    )
    def test_no_difference_has_no_sign(self, ours, shown):
        assert Comparison("a", 5.0, ours).texts[2] == shown

    def test_the_terminal_shows_both(self):
        lines = printed(EXHIBIT).splitlines()
        assert lines[0] == "Heads and relations  Clark et al. (2019), Table 1"
        assert lines[2].split() == ["dobj", "86.8%", "61.3%", "−25.5", "UD", "has", "obj"]
        assert lines[3].split() == ["best", "head", "8-10", "2-3", "–"]
        assert "3.89 nats" in lines[4]

    def test_the_terminal_is_not_overrun_and_obeys_nothing(self):
        hostile = HOSTILE + "[bold]x[/bold]"
        exhibit = Section("t", hostile, "", "S", comparisons=[Comparison(hostile, 1.0, 2.0)])
        text = printed(exhibit, 60)
        assert "\x1b" not in text
        assert "[bold]" in text
        assert max(map(len, text.splitlines())) <= 60
        assert printed(Section("t", "T", "", "S")).strip() == "T  S"


def test_the_terminal_shows_verdicts_where_nothing_is_compared() -> None:
    findings = pd.DataFrame({"finding": ["Heads attend to [SEP]"], "here": ["does not hold"]})
    long = pd.DataFrame({"head": range(40)})
    tables = [Table("findings", "Findings", findings), Table("all", "All heads", long)]
    shown = printed(Section("findings", "Which findings hold", "E", "S", tables=tables))
    assert re.search(r"Heads attend to \[SEP\] +does not hold", shown)
    assert "39" not in shown


def test_the_terminal_names_the_files_of_what_is_only_drawn() -> None:
    drawn = Section("figure-3", "A figure", "E", "S", files=["figure-3.svg", "figure-3.png"])
    assert "see figure-3.svg, figure-3.png" in printed(drawn)


def test_settings_are_said_in_words() -> None:
    settings = {"a": None, "b": True, "c": ["x", 1], "d": [], "e": {"f": 1}, "g": "as it is"}
    assert provenance({"settings": json.dumps(settings)}).settings == [
        ("a", "not set"), ("b", "yes"), ("c", "x, 1"), ("d", "none"), ("e", "f 1"),
        ("g", "as it is"),
    ]  # fmt: skip


def test_what_was_read_is_said_in_words() -> None:
    attributes = {"left_out": '[{"empty": 0, "split": 1}, {"empty": 2}]', "words": np.array([3, 4]),
                  "note": "[as it is"}  # fmt: skip
    assert provenance(attributes).source == [
        ("left out", "empty 0, split 1; empty 2"), ("words", "3, 4"), ("note", "[as it is"),
    ]  # fmt: skip
