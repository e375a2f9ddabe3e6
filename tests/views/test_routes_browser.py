"""The page of routes in a browser."""

import json
from functools import partial

import pytest

from headlight.findings.piece_text import ways_to
from headlight.views.reading.routes_page import routes_page
from headlight.vocabulary import ROUTE
from views.browsers import needs_browser
from views.sample_routes import TOKENS, sample_routes

pytestmark = needs_browser


@pytest.fixture
def opened(open_page, tmp_path):
    (tmp_path / "page.html").write_text(routes_page(sample_routes()), encoding="utf-8")
    return partial(open_page, tmp_path / "page.html")


def drawn(opened, kind):
    return len(opened.page.query_selector_all(f"#graph [data-way={kind}]"))


def test_it_draws_the_ways_of_python(opened):
    routes = sample_routes()
    page = opened("#t=9&k=3&at=0.08")
    ways = ways_to(routes, 9, 4, least=0.08)
    assert drawn(page, "attention") == sum(bool(way.heads) for way in ways)
    assert drawn(page, "residual") == sum(not way.heads for way in ways)
    heads = page.page.query_selector_all("#heads tbody tr")
    assert len(heads) == len({(way.layer, head) for way in ways for head, _ in way.heads})
    squares = {
        (way.layer, way.token)
        for way in ways
        if float(routes["forward"].sel(layer=way.layer)[way.token]) >= 0.08
    }
    assert drawn(page, "forward") == len(squares)


def test_it_opens_on_the_last_token_and_says_so(opened):
    page = opened()
    assert page.page.inner_text("#about-title") == f"{TOKENS[-1]}, after layer 5"
    ways = ways_to(sample_routes(), len(TOKENS) - 1, least=ROUTE)
    assert drawn(page, "attention") == sum(bool(way.heads) for way in ways)


def test_keys_move_the_token_and_the_address_follows(opened):
    page = opened("#t=4&k=3&at=0.08")
    page.page.focus(".graph")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowUp")
    assert "#t=3&k=4&at=0.08" in page.page.url
    assert page.page.inner_text("#about-title") == "on, after layer 5"
    page.page.check("#first")
    wanted = ways_to(sample_routes(), 3, least=0.08, without_first=True)
    assert drawn(page, "attention") == sum(bool(way.heads) for way in wanted)
    assert page.page.url.endswith("&f=1")


def test_what_is_saved_is_what_is_seen(opened):
    page = opened("#t=9&k=4&at=0.08")
    with page.page.expect_download() as saved:
        page.page.click("#export-json")
    found = json.loads(saved.value.path().read_text(encoding="utf-8"))
    assert len(found["ways"]) == len(ways_to(sample_routes(), 9, least=0.08))
    assert found["chosen"] == {"token": 9, "layer": 5, "least": 0.08}
