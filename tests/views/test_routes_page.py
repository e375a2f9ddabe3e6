"""The page of routes, and what it draws from them."""

import numpy as np
import pytest

from headlight.findings.piece_text import ways_to
from headlight.views.pictures import routes_picture, svg_text
from headlight.views.reading.routes_page import largest_parts, routes_page
from views.sample_routes import TOKENS, sample_routes


def naive_ways(routes, token, depth, least, *, without_first=False):
    """All ways by their definition, as tuples."""
    if not depth:
        return set()
    place, found = depth - 1, set()
    layer = int(routes["layer"][place])
    if float(routes["residual"][place, token]) >= least:
        found.add((layer, token, token, "residual"))
        found |= naive_ways(routes, token, place, least, without_first=without_first)
    for key in range(len(TOKENS)):
        share = sum(
            float(routes["share"][at])
            for at in range(routes.sizes["part"])
            if (routes["part_layer"][at], routes["part_query"][at], routes["part_key"][at])
            == (place, token, key)
        )
        if share >= least and not (without_first and key == 0):
            found.add((layer, token, key, "heads"))
            found |= naive_ways(routes, key, place, least, without_first=without_first)
    return found


def as_set(ways):
    return {
        (way.layer, way.token, way.source, "heads" if way.heads else "residual") for way in ways
    }


@pytest.mark.slow
@pytest.mark.parametrize("without_first", [False, True])
def test_ways_by_their_definition(without_first):
    routes = sample_routes(layers=2, heads=2)
    for token, least in ((11, 0.1), (5, 0.05), (0, 0.2)):
        found = ways_to(routes, token, least=least, without_first=without_first)
        wanted = naive_ways(routes, token, 2, least, without_first=without_first)
        assert as_set(found) == wanted
    assert as_set(ways_to(routes, 4, 2, least=0.1)) == naive_ways(routes, 4, 1, 0.1)


def test_a_page_keeps_the_largest_parts():
    routes = sample_routes()
    kept = largest_parts(routes, 50)
    assert kept.sizes["part"] <= 50
    assert kept["share"].values.min() > kept.attrs["least"]
    whole = [_sum(each) for each in (routes, kept)]
    np.testing.assert_allclose(*whole, rtol=1e-12)
    assert largest_parts(routes, 10**6) is routes


def _sum(routes):
    """Of all parts, by layer and token."""
    found = (routes["residual"] + routes["rest"] + routes["bias"]).values.copy()
    np.add.at(
        found, (routes["part_layer"].values, routes["part_query"].values), routes["share"].values
    )
    return found


def test_tokens_are_escaped():
    text = routes_page(sample_routes())
    assert "<b>" not in text.split("<body>")[1]


def test_a_picture_draws_the_ways():
    routes = sample_routes()
    text = svg_text(routes_picture(routes, 11, least=0.1))
    ways = [way for way in ways_to(routes, 11, least=0.1) if way.heads]
    for way in ways:
        assert f"L{way.layer}H{way.heads[0][0]}" in text
    assert "after layer 5: parts of at least 10.0%" in text
