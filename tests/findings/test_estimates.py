"""Sentences keep to intervals: what these overlap about is inconclusive."""

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from scipy import stats

from headlight.findings import highlights
from headlight.findings.estimates import Estimate, unreached
from headlight.findings.importance import importance
from headlight.findings.interval_phrases import beside, between, many, undecided
from headlight.findings.thresholds import FEWEST_TEXTS
from headlight.findings.weight_and_norm_shares import weight_and_norm
from headlight.result.estimate import MOVED, UNITS, WEIGHTS
from headlight.views.head_grid import head_grid
from headlight.views.result_contents import answers
from views.sample_results import survey_sample

BOUNDED = ("share", "neighbour", "entropy", "vector_norm_cv", "effective_correlation_by_head",
           "effective_correlation")  # fmt: skip


def plain(half: float, kind: str = "encoder") -> xr.Dataset:
    """Two layers of two heads, all alike, with intervals of one width; NaN for none."""
    result = survey_sample(2, 2)
    result.attrs["kind"] = kind
    result["share"][:] = 0.25
    result["neighbour"][:] = 0.1
    result["entropy"][:] = 2.0
    result["effective_correlation_by_head"][:] = 0.99
    result["effective_correlation"][:] = 0.9
    result["vector_norm_cv"][:] = 0.2
    return around(result, half)


def around(result: xr.Dataset, half: float) -> xr.Dataset:
    """The same with intervals that go so far to either side."""
    for name in BOUNDED:
        result[f"{name}_low"], result[f"{name}_high"] = result[name] - half, result[name] + half
    return result


def said(result: xr.Dataset, kind: str) -> str:
    return next(each.text for each in highlights(result) if each.kind == kind)


def previous(half: float) -> str:
    """Three heads: 85%, 80% and 55% of the weight to the previous token."""
    result = plain(half)
    for (layer, head), value in {(1, 0): 0.85, (0, 1): 0.8, (0, 0): 0.55}.items():
        place = {"measure": "weight", "layer": layer, "head": head, "offset": -1}
        result["neighbour"].loc[place] = value
    return said(around(result, half), "previous")


def test_a_first_rank_stands_where_no_interval_reaches_it() -> None:
    assert previous(0.02) == (
        "Head L1H0 gives 85% of its weight (95%: 83% to 87%) and 10% of its norm (95%: 8% to 12%) "
        "to the previous token; 3 heads give it more than half of their weight."
    )


def test_a_first_rank_that_others_reach_is_not_decided() -> None:
    assert previous(0.06) == (
        "Head L1H0 gives 85% of its weight (95%: 79% to 91%) and 10% of its norm (95%: 4% to 16%) "
        "to the previous token; 2 heads (1 inconclusive) give it more than half of their weight. "
        "Which head gives it most is inconclusive between L1H0 and L0H1."
    )


def test_of_one_text_it_is_said_what_was_seen() -> None:
    assert previous(np.nan) == (
        "Head L1H0 gives 85% of its weight and 10% of its norm to the previous token; 3 heads give "
        "it more than half of their weight."
    )


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.03, "40% of L1H0's weight (95%: 37% to 43%) goes to [SEP], but only 25% of its norm "
               "(95%: 22% to 28%)."),
        (np.nan, "40% of L1H0's weight goes to [SEP], but only 25% of its norm."),
    ],
)  # fmt: skip
def test_weight_and_norm_of_a_head_differ_where_their_intervals_do(half: float, words: str) -> None:
    result = plain(half)
    place = {"measure": "weight", "query_category": "all", "layer": 1, "head": 0}
    result["share"].loc[{**place, "key_category": "sep"}] = 0.4
    assert said(around(result, half), "sep") == words


def test_what_intervals_leave_open_is_counted_and_not_listed() -> None:
    result = plain(0.09)
    place = {"measure": "weight", "query_category": "all", "layer": 1, "head": 0}
    result["share"].loc[{**place, "key_category": "sep"}] = 0.4
    shown = highlights(around(result, 0.09).assign_attrs(examples=2, stage="survey"))
    assert "sep" not in [each.kind for each in shown]
    assert shown[-1].kind == "inconclusive"
    assert re.fullmatch(r"\d more (is|are) inconclusive with these 2 examples\.", shown[-1].text)


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.01, "40% of the weight (95%: 39% to 41%) goes to [SEP], but 10% of the norm (95%: 9% to "
               "11%), at most half as much."),
        (0.08, "40% of the weight (95%: 32% to 48%) goes to [SEP], and 10% of the norm (95%: 2% to "
               "18%); whether that is at most half as much is inconclusive."),
        (np.nan, "40% of the weight goes to [SEP], but 10% of the norm, at most half as much."),
    ],
)  # fmt: skip
def test_half_as_much_is_said_where_the_intervals_say_it(half: float, words: str) -> None:
    result = plain(half)
    for name, part in (("weight", 0.4), ("norm", 0.1)):
        place = {"measure": name, "query_category": "all", "key_category": "sep"}
        result["share"].loc[place] = part
    assert weight_and_norm(around(result, half), "sep") == words


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.02, "Head L1H0 is the broadest: its entropy, 4.40 nats (95%: 4.38 to 4.42), is 95% of "
               "that of uniform attention (4.61); 2 heads are above 90%."),
        (0.09, "The broadest heads are L1H0 and L0H1 (order inconclusive): the entropy of "
               "L1H0, 4.40 nats (95%: 4.31 to 4.49), is 95% of that of uniform attention (4.61); "
               "1 head (1 inconclusive) is above 90%."),
    ],
)  # fmt: skip
def test_the_broadest_head_and_how_many_are_broad(half: float, words: str) -> None:
    result = plain(half)
    for (layer, head), value in {(1, 0): 4.4, (0, 1): 4.23}.items():
        result["entropy"].loc[{"measure": "weight", "layer": layer, "head": head}] = value
    assert said(around(result, half), "broad") == words


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.01, "The lengths ‖f(x)‖ of the transformed vectors vary most in head L1H0, CV 0.40 "
               "(95%: 0.39 to 0.41), and least in head L0H1, CV 0.10 (95%: 0.09 to 0.11)."),
        (0.06, "The lengths ‖f(x)‖ of the transformed vectors vary most in head L1H0, CV 0.40 "
               "(95%: 0.34 to 0.46), and least in head L0H1, CV 0.10 (95%: 0.04 to 0.16). "
               "Inconclusive: least between L0H1, L0H0 and L1H1."),
    ],
)  # fmt: skip
def test_both_ends_of_the_dispersion_have_rivals(half: float, words: str) -> None:
    result = plain(half)
    for (layer, head), value in {(1, 0): 0.4, (0, 1): 0.1}.items():
        result["vector_norm_cv"].loc[{"layer": layer, "head": head}] = value
    assert said(around(result, half), "dispersion") == words


@pytest.mark.parametrize(("half", "word"), [(0.01, "agree less"), (0.2, ""),
                                            (np.nan, "agree less")])  # fmt: skip
def test_longer_texts_and_the_last_layer_are_compared_by_intervals(half: float, word: str) -> None:
    result = plain(half)
    result["effective_correlation"].loc[{"length": 112}] = 0.7
    count = result["effective_correlation_count"]
    result["effective_correlation_count"] = count.where(count < FEWEST_TEXTS, 40)
    freedom = result["effective_correlation_count"] - 1
    deviation = half * np.sqrt(freedom) / stats.t.ppf(0.975, freedom)
    result["effective_correlation_std"] = deviation
    result["entropy"].loc[{"measure": "weight", "query_category": "cls", "layer": 1}] = 2.35
    if not word:
        kinds = [each.kind for each in highlights(around(result, half))]
        assert not {"length", "breadth from cls"} & set(kinds)
        return
    assert word in said(around(result, half), "length")
    assert "is broader than" in said(around(result, half), "breadth from cls")


def test_sinks_are_counted_with_what_is_not_decided() -> None:
    result = plain(np.nan, "decoder")
    result["behaviour_share"] = (("measure", "behaviour", "layer", "head"),
                                 np.array([0.9, 0.32, 0.28, 0.1]).reshape(1, 1, 2, 2)
                                 * np.ones((3, 1, 1, 1)))  # fmt: skip
    result = result.assign_coords(behaviour=["first"])
    result["first_share"] = ("measure", np.full(3, 0.4))
    for name in ("behaviour_share", "first_share"):
        result[f"{name}_low"], result[f"{name}_high"] = result[name] - 0.05, result[name] + 0.05
    assert said(result, "first") == (
        "The first token of a text gets 40% of the weight (95%: 35% to 45%) and 40% of the norm "
        "(95%: 35% to 45%), means over all heads. 90% of L0H0's weight (95%: 85% to 95%) goes to "
        "the first token, and 90% of its norm (95%: 85% to 95%). It gets more than 30% in 1 (2 "
        "inconclusive) by weight and 1 (2 inconclusive) by norm of 4 heads."
    )


def test_what_is_out_of_reach_has_the_error_of_its_blocks() -> None:
    """Of each head: Σ over categories of the weight less effective attention, block by block."""
    random = np.random.default_rng(0)
    result = survey_sample(2, 3)
    share = result["share"]
    moved = random.normal(0, 0.01, (32, *share.shape))
    result = result.assign_coords({
        f"share{MOVED}": (("slot", *share.dims), moved),
        f"share{WEIGHTS}": ("slot", np.ones(32)),
        UNITS: ("slot", np.ones(32)),
    })  # fmt: skip
    found = unreached(result)
    parts = share.sel(query_category="all")
    blocks = result[f"share{MOVED}"].sel(query_category="all")
    apart, change = (
        (each.sel(measure="weight") - each.sel(measure="effective")).sum("key_category")
        for each in (parts, blocks)
    )
    error = np.sqrt((change**2).sum("slot")).transpose("layer", "head").values
    value = apart.transpose("layer", "head").values
    half = stats.t.ppf(0.975, 31) * error
    np.testing.assert_allclose(found.value, value)
    np.testing.assert_allclose(found.low, value - half, rtol=1e-6)
    np.testing.assert_allclose(found.high, value + half, rtol=1e-6)
    nothing = unreached(result.drop_vars([f"share{MOVED}", f"share{WEIGHTS}", UNITS]))
    np.testing.assert_array_equal(nothing.value, found.value)
    assert np.isnan(nothing.low).all()


numbers = st.floats(-1, 1) | st.just(float("nan"))


@pytest.mark.slow
@given(st.lists(st.tuples(numbers, st.floats(0, 1)), min_size=1, max_size=6))
def test_rivals_are_all_whose_interval_reaches_the_largest(
    drawn: list[tuple[float, float]],
) -> None:
    value, half = map(np.array, zip(*drawn, strict=True))
    found = Estimate.with_ends(value, value - half, value + half)
    first = found.first()
    if first is None:
        assert np.isnan(value).all()
        return
    reach = value + half >= value[first] - half[first]
    expected = [at for at in range(len(value)) if at != first[0] and reach[at]]
    assert sorted(place for (place,) in found.rivals()) == expected
    assert [value[place] for (place,) in found.rivals()] == sorted(
        value[expected].tolist(), reverse=True
    )


def test_nothing_rivals_a_number_without_an_interval() -> None:
    nothing = np.full(2, np.nan)
    assert Estimate.with_ends(np.array([0.9, 0.8]), nothing, nothing).rivals() == []
    assert many(np.array(["above", "inconclusive", "below", ""])) == "1 (1 inconclusive)"
    assert between(["L0H1", "L1H0"]) == "L0H1 and L1H0"
    assert between(list("abcde")) == "a, b, c and 2 other heads"


def of(value: Any, half: float) -> Estimate:
    return Estimate.with_ends(*map(np.array, (value, value - half, value + half)))


@pytest.mark.parametrize(("half", "words"), [
    (0.04, ""), (0.06, " Which head finds most is inconclusive between L0H1 and L1H0."),
    (np.nan, " Which head finds most is inconclusive: no interval was computed."),
])  # fmt: skip
def test_the_first_of_several_is_said_to_be_as_its_interval_allows(half: float, words: str) -> None:
    value = np.array([0.2, 0.6, np.nan, 0.5])
    names = ["L0H0", "L0H1", "L0H2", "L1H0"]
    assert undecided(of(value, half), names, "which head finds most") == words
    assert undecided(of(value[:1], half), names, "which head finds most") == ""
    equal = undecided(of(np.array([0.5, 0.5]), 0.0), names, "which head finds most")
    assert equal == " Which head finds most is inconclusive between L0H0 and L0H1."


@pytest.mark.parametrize(("value", "half", "words"), [
    (0.7, 0.05, "which is more than chance (50%)"), (0.3, 0.05, "which is less than chance (50%)"),
    (0.7, 0.15, "beside chance (50%); which is more is inconclusive"),
    (0.5, 0.0, "beside chance (50%); which is more is inconclusive"),
    (0.7, np.nan, "beside chance (50%); which is more is inconclusive: no interval was computed"),
])  # fmt: skip
def test_two_numbers_are_compared_by_both_their_intervals(
    value: float, half: float, words: str
) -> None:
    assert beside(of(value, half), of(0.5, half), "chance (50%)") == words


def test_what_has_no_interval_of_its_own_may_be_first() -> None:
    value, half = np.array([0.6, 0.1]), np.array([0.01, np.nan])
    assert Estimate.with_ends(value, value - half, value + half).rivals() == [(1,)]


def test_the_grid_shows_half_the_interval() -> None:
    views = head_grid(plain(0.031)).views
    assert views["sep.weight"]["texts"][0] == "25.0% ±3.1"
    assert views["entropy.weight"]["texts"][0] == "2.00 nats ±0.03"
    assert head_grid(plain(np.nan)).views["sep.weight"]["texts"][0] == "25.0%"


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.1, "Predictions move most without L1H0: 30% of them become others, without the median "
              "head 10%. By KL that is 0.9 nats (95%: 0.8 to 1); the median is 0.35."),
        (0.3, "Without which head predictions move most is inconclusive between L1H0 and L0H1: "
              "without L1H0 30% of them become others, without the median head 10%. By KL L1H0 "
              "moves them by 0.9 nats (95%: 0.6 to 1.2); the median is 0.35."),
        (np.nan, "Predictions move most without L1H0: 30% of them become others, without the "
                 "median head 10%. By KL that is 0.9 nats; the median is 0.35. Without which "
                 "head predictions move most is inconclusive: no interval was computed."),
    ],
)  # fmt: skip
def test_without_which_head_predictions_move_most(half: float, words: str) -> None:
    kl = xr.DataArray(
        [[0.1, 0.5], [0.9, 0.2]], {"layer": [0, 1], "head": [0, 1]}, ("layer", "head")
    )
    nothing = xr.full_like(kl, np.nan)
    result = xr.Dataset(
        {"head_kl": kl, "head_kl_low": kl - half, "head_kl_high": kl + half,
         "head_changed": (kl.dims, [[0.1, 0.05], [0.3, 0.1]]), "head_loss_change_low": nothing,
         "own_loss": np.nan, "own_accuracy": np.nan},
        attrs={"stage": "ablation"},
    )  # fmt: skip
    assert answers(result) == [words]


def test_two_heads_that_attend_alike_may_be_others() -> None:
    between_heads = np.zeros((1, 3, 3))
    for (one, other), value in {(0, 1): 0.1, (0, 2): 0.3, (1, 2): 0.14}.items():
        between_heads[0, one, other] = between_heads[0, other, one] = value
    dims, layers = ("measure", "first", "second"), [0, 0, 1]
    for half, more in ((0.01, ""), (0.03, " Whether they or L0H1 and L1H0 are most alike is "
                                          "inconclusive.")):  # fmt: skip
        result = xr.Dataset(
            {f"distance{end}": (dims, between_heads + sign * half)
             for end, sign in (("", 0), ("_low", -1), ("_high", 1))},
            {"measure": ["weight"], "layer": ("first", layers), "head": ("first", [0, 1, 0]),
             "second_layer": ("second", layers)},
            {"stage": "distances"},
        )  # fmt: skip
        ends = f"{0.1 - half:.2g} to {0.1 + half:.2g}"
        assert answers(result)[0] == (
            "By weight, L0H0 and L0H1 attend most alike: they are 14% of the largest possible "
            f"distance apart. In nats that is 0.1 (95%: {ends}) of 0.69.{more}"
        )


@pytest.mark.papers
@pytest.mark.parametrize(("half", "words"), [
    (0.01, "40% (95%: 39% to 41%) of a hidden token is due to its own input in layer 0, and 30% "
           "(95%: 29% to 31%) in layer 1."),
    (0.08, "40% (95%: 32% to 48%) of a hidden token is due to its own input in layer 0, and 30% "
           "(95%: 22% to 38%) in layer 1; which of the two is more is inconclusive."),
])  # fmt: skip
def test_layers_are_compared_by_what_tokens_keep_of_themselves(half: float, words: str) -> None:
    own, other = np.array([[0.4, 0.3]]), np.array([0.2, 0.5])
    ends = (("", 0), ("_low", -1), ("_high", 1))
    result = xr.Dataset(
        {**{f"own_mean{end}": (("group", "layer"), own + sign * half) for end, sign in ends},
         **{f"not_largest{end}": ("layer", other + sign * half) for end, sign in ends}},
        {"group": ["all"], "layer": [0, 1]},
        {"stage": "attribution"},
    )  # fmt: skip
    assert answers(result)[0] == words


@pytest.mark.parametrize(("half", "words"), [
    (0.02, "The loss depends most on attention to [SEP]: the mean |∂L/∂α| is 0.5 (95%: 0.48 to "
           "0.52), 5 times that of attention to punctuation, 0.1 (95%: 0.08 to 0.12), where it "
           "depends least."),
    (0.16, "Attention to which tokens the loss depends most on is inconclusive between [SEP] and "
           "other tokens: of [SEP] the mean |∂L/∂α| is 0.5 (95%: 0.34 to 0.66), 5 times that of "
           "attention to punctuation, 0.1 (95%: \u22120.06 to 0.26)."),
])  # fmt: skip
def test_on_which_tokens_the_loss_depends_most(half: float, words: str) -> None:
    values = np.array([0.5, 0.4, 0.1]) * np.ones((1, 1, 1, 3))
    dims = ("importance_query", "layer", "head", "importance_key")
    result = xr.Dataset(
        {f"importance{end}": (dims, values + sign * half)
         for end, sign in (("", 0), ("_low", -1), ("_high", 1))},
        {"layer": [0], "head": [0], "importance_query": ["all"],
         "importance_key": ["sep", "other", "punctuation"]},
    )  # fmt: skip
    assert importance(result) == [words]


@pytest.mark.papers
def test_which_map_finds_most_tokens() -> None:
    ends = (("", 0), ("_low", -0.1), ("_high", 0.1))
    dims = ("map", "loss", "offset", "fraction", "layer")
    rates = np.array([0.5, 0.9, 0.8]).reshape(3, 1, 1, 1, 1)
    identity = xr.Dataset(
        {f"rate_mean{end}": (dims, rates + change) for end, change in ends},
        {"map": ["naive", "linear", "mlp"], "loss": ["cosine"], "offset": [0], "fraction": [1.0],
         "layer": [5]},
        {"stage": "token_identity"},
    )  # fmt: skip
    assert answers(identity) == [
        "After layer 5, 90% (95%: 80% to 100%) of input tokens can be told from their hidden "
        "vectors. That is by the map linear (distance cosine).",
        "Which map finds most is inconclusive between linear (cosine) and mlp (cosine).",
        "Without training (naive), 50% are found (95%: 40% to 60%).",
    ]
