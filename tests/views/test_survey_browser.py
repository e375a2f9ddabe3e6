"""The report of a survey in a browser: what an address names is unfolded, of every kind."""

import pytest

from headlight.result.kinds import concat_kinds
from headlight.views.result_page import result_page
from views.browsers import needs_browser
from views.sample_results import survey_sample

pytestmark = [*needs_browser, pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

IS_OPEN = "id => document.querySelector(`#${id} > details`).open"
IS_SEEN = """name => {
    const { top } = document.querySelector("[data-part=name]").getBoundingClientRect();
    return document.querySelector(`[data-head="${name}"]`) && top >= 0 && top < innerHeight;
}"""


@pytest.fixture
def opened(tmp_path, browser):
    """Return a function that opens the report of a result at an address."""

    def open_report(result, address=""):
        path = tmp_path / "report.html"
        path.write_text(result_page(result), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{path.as_uri()}{address}")
        return page

    return open_report


def test_a_finding_leads_to_its_head_also_where_that_is_folded(opened):
    page = opened(survey_sample(3, 4))
    folded = {name: page.evaluate(IS_OPEN, name) for name in ("highlights", "grid", "each-head")}
    assert folded == {"highlights": True, "grid": True, "each-head": False}
    link = page.locator("#highlights a[href^='#L']").first
    name = str(link.get_attribute("href"))[1:]
    link.click()
    page.wait_for_function(IS_SEEN, arg=name)
    assert page.evaluate(IS_OPEN, "each-head")


def test_a_head_is_shown_in_the_grid_also_where_that_was_folded(opened):
    page = opened(survey_sample(3, 4))
    page.locator("#grid > details > summary").click()
    assert not page.evaluate(IS_OPEN, "grid")
    link = page.locator("#highlights a[href^='#head=']").last
    name = str(link.get_attribute("href")).split("&")[0].removeprefix("#head=")
    if not link.is_visible():
        page.locator("#highlights details details > summary", has_text="more").click()
    link.click()
    assert page.evaluate(IS_OPEN, "grid")
    assert page.locator(f".cell.chosen#{name}").count() == 1


def test_an_address_of_another_kind_shows_that_kind(opened):
    kinds = {
        kind: survey_sample(2, 3, seed=at).assign_attrs(kind=kind)
        for at, kind in enumerate(("encoder", "decoder"))
    }
    page = opened(concat_kinds(kinds), "#decoder-L1H2")
    page.wait_for_function("document.querySelector('#decoder-each-head > details').open")
    assert page.locator("#encoder-grid").is_hidden()
    page.locator("label", has_text="encoder").first.click()
    assert page.locator("#encoder-grid").is_visible()
    assert page.locator("#decoder-each-head").is_hidden()
