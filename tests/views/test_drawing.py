"""Scales, colours, numbers and elements."""

import math

import pytest
from hypothesis import given, strategies as st
from markupsafe import Markup

from headlight.views.axis_ranges import round_domain
from headlight.views.colours import (
    LEVELS,
    THEMES,
    contrast,
    level,
    on_dark,
    ramp,
    text_colour,
    text_in_figures,
)
from headlight.views.html_elements import element
from headlight.views.number_formats import (
    decimal,
    percent_cell,
    percent_text,
    points_cell,
    points_text,
    rank_text,
    signed,
)

VALUES = st.floats(-1e6, 1e6, allow_nan=False)


@given(VALUES, st.floats(1e-3, 1e6))
def test_round_domains_contain_the_values(low, span):
    start, end = round_domain(low, low + span)
    assert start <= low + 1e-6 * span
    assert end >= low + span - 1e-6 * span
    assert end - start <= 3 * span


@pytest.mark.parametrize("low", [-0.001, -0.03])
def test_values_a_hair_below_zero_do_not_open_a_step_below_it(low):
    domain = round_domain(low, 0.97)
    assert domain == (low, 1.0)


def test_values_far_below_zero_have_their_room():
    assert round_domain(-0.3, 0.97) == (-0.5, 1.0)


def test_a_domain_without_values_is_still_a_domain():
    assert round_domain(math.nan, math.nan) == (0.0, 1.0)
    assert round_domain(2.0, 2.0)[1] > round_domain(2.0, 2.0)[0]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("scale", ["weight", "norm", "effective", "gradient", "green"])
def test_ramps_run_one_way_in_lightness(theme, scale):
    against = "#ffffff" if theme == "light" else "#000000"
    steps = [contrast(colour, against) for colour in ramp(theme, scale)]
    assert len(steps) == LEVELS
    assert steps == sorted(steps)


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_can_be_read_on_every_colour(theme):
    colours = [colour for scale in THEMES[theme] for colour in ramp(theme, scale)]
    assert min(contrast(text_colour(colour), colour) for colour in colours) > 4.3


def test_numbers_in_figures_can_be_read_on_light_and_on_dark_pages():
    for scale in THEMES["light"]:
        for colour in ramp("light", scale):
            text = text_in_figures(colour)
            assert contrast(text, colour) > 3.5
            assert contrast(on_dark(text), on_dark(colour)) > 3.5


def test_dark_pages_turn_lightness_round_and_keep_hues():
    assert (on_dark("#ffffff"), on_dark("#000000")) == ("#000000", "#ffffff")
    for hue, channel in (("#801500", 0), ("#005020", 1), ("#0f3a7a", 2)):
        channels = [int(on_dark(hue)[at : at + 2], 16) for at in (1, 3, 5)]
        assert channels.index(max(channels)) == channel


def test_contrast_of_black_on_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("value", "step"), [(-1.0, 0), (0.0, 0), (0.5, 10), (1.0, 20), (7.0, 20)])
def test_levels_are_clipped(value, step):
    assert level(value, 0.0, 1.0) == step


def test_text_and_attributes_are_escaped_and_markup_is_not():
    made = element("text", "<b>", Markup("<i>x</i>"), class_='a"b', data_x=1.0, skip=None)
    assert str(made) == '<text class="a&#34;b" data-x="1">&lt;b&gt;<i>x</i></text>'


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.614, "61"), (0.0614, "6.1"), (0.00001, "0"), (math.nan, "–"), (-0.25, "−25")],
)
def test_percentages_in_cells(value, words):
    assert percent_cell(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.3123, "0.312"), (4.613, "4.61"), (19.93, "19.9"), (1234.5, "1234"), (math.nan, "–")],
)
def test_decimals_have_three_digits(value, words):
    assert decimal(value) == words


def test_missing_numbers_are_a_dash():
    assert percent_text(math.nan) == "–"


def test_minus_signs_are_as_wide_as_plus_and_zero_has_none():
    assert [points_cell(value) for value in (-0.123, 0.123, -0.001, 0.001)] == [
        "−12",
        "+12",
        "0",
        "0",
    ]
    assert [points_text(value) for value in (-0.123, -0.0001)] == ["−12.3 points", "0.0 points"]
    assert (signed(-0.5), signed(-0.001), decimal(-0.0123)) == ("−0.50", "0.00", "−0.0123")
    assert (percent_text(-0.001), percent_text(-0.0001)) == ("−0.1%", "0.0%")


def test_ranks_are_whole_where_they_are():
    assert [rank_text(value) for value in (32.0, 31.42, math.nan)] == ["32", "31.4", "–"]
