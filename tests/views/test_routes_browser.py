"""The page of routes in a browser."""

import json
from functools import partial

import pytest

from headlight.findings.route_tracing import ways_to
from headlight.findings.routes import routes as sentences
from headlight.views.reading.routes_page import findings, routes_page
from headlight.vocabulary import ROUTE
from long_cases import mostly_long
from views.browsers import needs_browser
from views.sample_routes import sample_routes
from views.test_reading_browser import APART

pytestmark = needs_browser


@pytest.fixture
def opened(open_page, tmp_path):
    (tmp_path / "page.html").write_text(routes_page(sample_routes()), encoding="utf-8")
    return partial(open_page, tmp_path / "page.html")


def drawn(opened, kind):
    return len(opened.page.query_selector_all(f"#graph [data-way={kind}]"))


def test_it_draws_the_ways_of_python(opened):
    routes = sample_routes()
    page = opened("#t=9&k=3&at=0.02")
    ways = ways_to(routes, 9, 4, least=0.02, hidden=[0])
    assert ways.links
    assert drawn(page, "attention") == len(ways.links)
    assert page.page.inner_text("#counted").endswith(f"the {len(ways.links)} links that are drawn.")
    forward = routes["forward"].values[:3] * ways.passing[1:]
    rows = {int(link.layer) - 2 for link in ways.links}
    assert drawn(page, "forward") == sum(int((forward[row] >= 0.02).sum()) for row in rows)
    columns = page.page.query_selector_all("#graph [data-column]")
    assert [each.get_attribute("data-column") for each in columns] == [str(at) for at in range(10)]


def test_it_says_the_sentences_of_python(opened):
    routes = sample_routes()
    page = opened()
    first, traced = findings(routes)
    assert page.page.inner_text("#said") == first
    assert page.page.inner_text("#traced") == traced
    page.page.click("#sentence button:nth-child(6)")
    page.page.select_option("#layer", label="3")
    assert "#t=5&k=2" in page.page.url
    first, traced = sentences(routes, 5, 3, least=ROUTE)
    assert page.page.inner_text("#said") == first
    assert page.page.inner_text("#traced") == traced


@pytest.mark.parametrize("width", [1440, 390])
def test_names_of_heads_stand_apart(opened, width):
    page = opened("#t=9&k=3&at=0.005", viewport={"width": width, "height": 844})
    assert page.page.locator("#graph [data-head]").count() > 1
    assert page.page.evaluate(APART.replace("SELECTOR", "'#graph [data-head]'"))
    sizes = page.page.locator("#graph text").evaluate_all(
        "all => all.map(each => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 11
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_keys_move_the_token_and_the_address_follows(opened):
    page = opened("#t=4&k=3&at=0.02")
    page.page.focus(".graph")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowUp")
    assert "#t=3&k=4&at=0.02" in page.page.url
    assert page.page.inner_text("#said").startswith("After layer 5 “on” is ")
    page.page.click("#hidden")
    assert drawn(page, "attention") == len(ways_to(sample_routes(), 3, least=0.02).links)
    assert page.page.url.endswith("&f=1")


@pytest.mark.parametrize("width", mostly_long([390, 1440], 390))
def test_it_is_fitted_to_the_window(opened, width):
    page = opened(viewport={"width": width, "height": 900})
    frame = "(() => { const box = document.querySelector('.graph'); return "
    assert page.page.evaluate(frame + "box.scrollWidth <= box.clientWidth; })()")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    rows = page.page.evaluate(frame + "box.getBoundingClientRect().bottom; })()")
    assert width < 900 or rows <= 900


def test_what_is_saved_is_what_is_seen(opened):
    page = opened("#t=9&k=4&at=0.02")
    with page.page.expect_download() as saved:
        page.page.click("#export-json")
    written = json.loads(saved.value.path().read_text(encoding="utf-8"))
    assert len(written["links"]) == len(ways_to(sample_routes(), 9, least=0.02, hidden=[0]).links)
    assert written["chosen"] == {"token": 9, "layer": 5, "least": 0.02}
