"""The page of routes, and what it draws from them."""

import re
from collections import Counter

import numpy as np
import pytest

from headlight.findings.route_tracing import ways_to
from headlight.views.pictures import routes_picture, svg_text
from headlight.views.reading.routes_page import findings, headline, largest_parts, routes_page
from views.sample_routes import TOKENS, sample_routes


def naive_ways(routes, token, depth):
    """Shares of a token by their definition: every way down, one by one.

    Returns:
        What passes each link, as (layer, token, source); and what is at each token of the input.
    """
    links, inputs = Counter(), Counter()

    def down(at, place, share):
        if place < 0:
            inputs[at] += share
            return
        kept = 1.0
        for key in range(len(TOKENS)):
            taken = float(routes["rest"][place, at, key]) + sum(
                float(routes["share"][part])
                for part in range(routes.sizes["part"])
                if (routes["part_layer"][part], routes["part_query"][part]) == (place, at)
                and routes["part_key"][part] == key
            )
            if key != at and taken > 0:
                kept -= taken
                links[int(routes["layer"][place]), at, key] += share * taken
                down(key, place - 1, share * taken)
        down(at, place - 1, share * kept)

    down(token, depth - 1, 1.0)
    return links, inputs


@pytest.mark.slow
def test_ways_by_their_definition():
    routes = sample_routes(layers=2, heads=2)
    for token, layer in ((9, None), (5, None), (0, None), (4, 2)):
        ways = ways_to(routes, token, layer, least=1e-9)
        links, inputs = naive_ways(routes, token, 2 if layer is None else 1)
        assert {(e.layer, e.token, e.source): e.share for e in ways.links} == pytest.approx(links)
        for at in range(len(TOKENS)):
            assert ways.passing[0, at] == pytest.approx(inputs[at], abs=1e-12)


def test_widths_and_what_is_taken_add_up():
    routes = sample_routes()
    ways = ways_to(routes, 9, least=0.02, hidden=[0])
    np.testing.assert_allclose(ways.passing.sum(1), 1)
    assert ways.direct.sum() == pytest.approx(1)
    assert ways.links
    assert all(link.share >= 0.02 and link.source != 0 for link in ways.links)
    for link in ways.links:
        assert sum(share for _, share in link.heads) <= link.share + 1e-12


def test_the_first_token_is_no_finding():
    first, traced = findings(sample_routes())
    assert re.match(r"After layer 5 “dog” is \d+% itself; \d+% came from “", first)
    assert "“The”" not in first
    assert traced.startswith("Traced to the input, ")
    assert traced.endswith("is “The”.")


def test_the_head_that_is_named_brings_most():
    routes = sample_routes()
    ways, every = ways_to(routes, 9, least=0.02), ways_to(routes, 9, least=1e-9)
    for source, link in ways.most.items():
        to_it = [other for other in every.links if (other.token, other.source) == (9, source)]
        assert link.heads[0][1] == max(share for other in to_it for _, share in other.heads)


def test_bars_of_the_headline_add_up():
    routes = sample_routes()
    bars = headline(routes).pictures[0].bars
    assert bars[0].label == "“dog” itself"
    assert sum(int(bar.value.rstrip("%")) for bar in bars) == pytest.approx(100, abs=4)


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
    found = (routes["residual"] + routes["rest"].sum("key") + routes["bias"]).values.copy()
    np.add.at(
        found, (routes["part_layer"].values, routes["part_query"].values), routes["share"].values
    )
    return found


def test_tokens_are_escaped():
    text = routes_page(sample_routes())
    assert "<b>" not in text.split("<body>")[1]


def test_a_picture_draws_the_ways():
    routes = sample_routes()
    text = svg_text(routes_picture(routes, 10, least=0.02))
    links = ways_to(routes, 10, least=0.02, hidden=[0]).links
    largest = max(links, key=lambda link: link.share)
    assert f"L{largest.layer}H{largest.heads[0][0]}" in text
    assert "How much of “dog”, after layer 5, came straight from each token" in text
