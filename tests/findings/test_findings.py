"""The sentences say what the numbers say, and nothing where there are none."""

import re

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st

from headlight.findings import average, highlights, observed, share, weight_and_norm
from headlight.findings.phrases import layer_list, percent
from headlight.views.head_grid import head_grid
from views.sample_results import survey_sample

SIZES = [(1, 1), (1, 4), (6, 8), (12, 12)]


def by_kind(result: xr.Dataset) -> dict[str, str]:
    return {highlight.kind: highlight.text for highlight in highlights(result)}


def set_shares(result: xr.Dataset, measure: str, place: tuple[int, int], shares: list[float]):
    layer, head = place
    result["share"].loc[{"measure": measure, "layer": layer, "head": head}] = np.array(shares)


def test_weight_without_norm_is_said_with_its_numbers():
    result = survey_sample(6, 8)
    result["share"][:] = 0.25
    set_shares(result, "weight", (4, 7), [0.1, 0.61, 0.09, 0.2])
    set_shares(result, "norm", (4, 7), [0.1, 0.06, 0.14, 0.7])
    said = "61% of L4H7's weight goes to [SEP], but only 6% of its norm."
    assert by_kind(result)["sep"] == said


def test_means_of_special_tokens_stand_first_where_they_are_apart_with_the_head_that_shows_it():
    result = survey_sample(6, 8)
    result["share"][:] = 0.25
    set_shares(result, "weight", (4, 7), [0.1, 0.61, 0.09, 0.2])
    set_shares(result, "norm", (4, 7), [0.1, 0.06, 0.14, 0.7])
    (first,) = [each for each in highlights(result) if each.kind == "special tokens"]
    assert first.head is None
    result["share"].loc[{"measure": "norm", "key_category": "sep"}] = 0.05
    first, *others = highlights(result)
    assert (first.layer, first.head, first.question, first.measure) == (4, 7, "sep", "weight")
    assert first.text.startswith(
        "Over all heads, 26% of the weight goes to [SEP], but 5% of the norm, "
    )
    assert (
        "half as much. 61% of L4H7's weight goes to [SEP], but only 5% of its norm." in first.text
    )
    assert "special tokens" not in [each.kind for each in others]


def test_each_special_token_is_judged_by_itself_and_their_layers_named():
    result = survey_sample(5, 2)
    result["share"][:] = np.array([0.1, 0.1, 0.1, 0.7])
    for layer in (1, 3, 4):
        for head in range(2):
            set_shares(result, "weight", (layer, head), [0.2, 0.5, 0.1, 0.2])
    assert by_kind(result)["sep"] == (
        "Over all heads, 34% of the weight goes to [SEP], but 10% of the norm, at most half as "
        "much. "
        "50% of L1H0's weight goes to [SEP], but only 10% of its norm. "
        "16% of the weight goes to [CLS], and 10% of the norm. "
        "Means over all heads of layers 0 to 4; "
        "the gap is ten points and more in layers 1 and 3 to 4. "
        "Kobayashi et al. (2020) found much weight and little norm at the special tokens of BERT."
    )


def test_no_gap_is_said_as_no_gap():
    result = survey_sample(4, 4)
    result["share"][:] = 0.25
    text = by_kind(result)["special tokens"]
    assert "25% of the weight goes to [SEP], and 25% of the norm." in text
    assert "gap" not in text
    assert "half" not in text


def test_strongest_neighbour_is_the_largest_weight():
    result = survey_sample(6, 8)
    result["neighbour"][:] = 0.01
    result["neighbour"].loc[{"measure": "weight", "layer": 2, "head": 3, "offset": -1}] = 0.85
    assert by_kind(result)["previous"].startswith("Head L2H3 gives 85% of its weight")
    assert "next" not in by_kind(result)


def test_dispersion_names_both_ends():
    result = survey_sample(3, 3)
    result["vector_norm_cv"][:] = 0.2
    result["vector_norm_cv"].loc[{"layer": 1, "head": 0}] = 0.37
    result["vector_norm_cv"].loc[{"layer": 2, "head": 2}] = 0.12
    text = by_kind(result)["dispersion"]
    assert text.endswith("vary most in head L1H0, CV 0.37, and least in head L2H2, CV 0.12.")


def test_effective_names_the_least_alike_head():
    result = survey_sample(3, 3)
    result["effective_correlation_by_head"][:] = 0.9
    result["effective_correlation_by_head"].loc[{"layer": 2, "head": 1}] = 0.3
    assert (
        "head L2H1: correlation 0.30, where the mean over heads is 0.83"
        in (by_kind(result)["effective"])
    )


def test_bins_of_one_or_two_documents_do_not_count():
    result = survey_sample()
    result["effective_correlation"][:] = np.nan
    result["effective_correlation"][2:5] = [0.9, 0.8, 0.1]
    result["effective_correlation_count"][:] = np.array([0, 0, 9, 9, 1, 0, 0, 0, 0])
    result["effective_correlation_std"][:] = np.nan
    assert "correlation 0.90 below 48 tokens, 0.80 from 48" in by_kind(result)["length"]


@pytest.mark.parametrize(("layers", "heads"), SIZES)
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("pruned", [True, False])
def test_lists_are_short_ranked_and_without_repetition(layers, heads, special, pruned):
    found = highlights(survey_sample(layers, heads, special=special, pruned=pruned))
    assert 0 < len(found) <= 12
    importance = [highlight.importance for highlight in found]
    assert importance == sorted(importance, reverse=True)
    assert all(0 <= value <= 1 for value in importance)
    assert len({highlight.kind for highlight in found}) == len(found)
    assert not any(re.search(r"\bnan\b|\binf\b", highlight.text) for highlight in found)
    if not special:
        assert not any(
            "[SEP]" in highlight.text or "[CLS]" in highlight.text for highlight in found
        )


def test_an_empty_result_has_no_highlights():
    result = survey_sample(2, 2)
    assert highlights(result * np.nan) == []
    bare = xr.Dataset(coords={"layer": [0, 1], "head": [0]})
    assert highlights(bare) == []


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.floats(0, 1))
def test_any_hole_leaves_the_rest_standing(seed, missing):
    random = np.random.default_rng(seed)
    result = survey_sample(3, 4, seed=seed)
    for name in result:
        if "layer" in result[name].dims:
            kept = xr.DataArray(random.uniform(size=(3,)) > missing, dims="layer")
            result[name] = result[name].where(kept)
    assert not any("nan" in highlight.text.split() for highlight in highlights(result))


def test_observed_is_nan_where_a_label_is_missing():
    result = survey_sample(2, 3).sel(measure=["weight"])
    assert np.isnan(share(result, "norm", "sep")).all()
    assert share(result, "norm", "sep").shape == (2, 3)
    expected = result["share"].sel(measure="weight", query_category="all", key_category="sep")
    np.testing.assert_array_equal(share(result, "weight", "sep"), expected.values)
    np.testing.assert_array_equal(
        observed(result, "input_norm_cv", ("layer",)), result["input_norm_cv"].values
    )


def test_average_leaves_out_what_is_missing():
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(average(values, axis=1), [2.0, np.nan])


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([3], "layer 3"),
        ([2, 3, 4], "layers 2 to 4"),
        ([0, 2], "layers 0 and 2"),
        ([0, 2, 6, 7, 8], "layers 0, 2 and 6 to 8"),
    ],
)
def test_layers_in_words(layers, words):
    assert layer_list(layers) == words


@pytest.mark.parametrize(
    ("part", "words"),
    [(0.614, "61%"), (0.0, "0%"), (0.004, "0.4%"), (0.0004, "under 0.1%"), (-0.2, "-20%")],
)
def test_percentages_in_words(part, words):
    assert percent(part) == words


def test_layers_have_the_numbers_of_the_model_where_a_survey_holds_some_only():
    result = survey_sample(6, 8).isel(layer=[1, 4])
    result["neighbour"][:] = 0.01
    result["neighbour"].loc[{"measure": "weight", "layer": 4, "head": 3, "offset": -1}] = 0.85
    assert by_kind(result)["previous"].startswith("Head L4H3 gives 85% of its weight")
    assert {each.layer for each in highlights(result)} <= {None, 1, 4}


def plain(kind: str = "encoder") -> xr.Dataset:
    """A survey of two layers of two heads in which nothing stands out."""
    result = survey_sample(2, 2)
    result.attrs["kind"] = kind
    result["share"][:] = 0.25
    result["neighbour"][:] = 0.1
    result["entropy"][:] = 0.6 * float(result["entropy_uniform"])
    result["effective_correlation_by_head"][:] = 0.99
    result["effective_correlation"][:] = 0.9
    result["vector_norm_cv"][:] = 0.2
    return result


PLACE = {"layer": 1, "head": 0}
OF_ALL = {"measure": "weight", "query_category": "all"}
PLANTED = [
    ("sep", "share", {**OF_ALL, **PLACE, "key_category": "sep"}, 0.4, 0.3),
    ("punctuation", "share", {**OF_ALL, **PLACE, "key_category": "punctuation"}, 0.4, 0.3),
    ("next", "neighbour", {"measure": "weight", **PLACE, "offset": 1}, 0.31, 0.29),
    ("broad", "entropy", {**OF_ALL, **PLACE}, 0.76 * 4.61, 0.74 * 4.61),
    ("narrow", "entropy", {**OF_ALL, **PLACE}, 0.49 * 4.61, 0.51 * 4.61),
    (
        "breadth from cls",
        "entropy",
        {"measure": "weight", "query_category": "cls", "layer": 1},
        0.6 * 4.61 + 0.31,
        0.6 * 4.61 + 0.29,
    ),
    ("length", "effective_correlation", {"length": 112}, 0.84, 0.86),
]
"""Kind of finding, variable, place, a value by which it is so, and one by which it is not."""


@pytest.mark.parametrize(("kind", "name", "place", "so", "not_so"), PLANTED)
def test_a_finding_is_said_where_it_is_so_and_only_there(kind, name, place, so, not_so):
    result = plain()
    result[name].loc[place] = not_so
    assert kind not in by_kind(result)
    result[name].loc[place] = so
    found = next(each for each in highlights(result) if each.kind == kind)
    if found.head is not None:
        assert (found.layer, found.head) == (1, 0)
        assert "L1H0" in found.text


def test_under_a_causal_mask_it_says_nothing_that_the_first_token_sees_itself_alone():
    result = plain("decoder")
    result["entropy"].loc[{"measure": "weight", "query_category": "cls"}] = 0.0
    assert "breadth from cls" not in by_kind(result)
    result.attrs["kind"] = "encoder"
    assert "[CLS], 0.00 nats, is narrower" in by_kind(result)["breadth from cls"]


@pytest.mark.parametrize(
    ("weight", "norm", "said"),
    [
        (0.08, 0.03, "8% of the weight goes to [SEP], but 3% of the norm, at most half as much."),
        (0.11, 0.05, "11% of the weight goes to [SEP], but 5% of the norm, at most half as much."),
        (0.11, 0.06, "11% of the weight goes to [SEP], and 6% of the norm."),
        (0.0, 0.0, "0% of the weight goes to [SEP], and 0% of the norm."),
    ],
)
def test_what_is_said_of_weight_and_norm_of_a_category(weight, norm, said):
    survey = plain()
    for name, part in (("weight", weight), ("norm", norm)):
        place = {"measure": name, "query_category": "all"}
        survey["share"].loc[{**place, "key_category": "sep"}] = part
    assert weight_and_norm(survey, "sep") == said
    assert said in by_kind(survey)["special tokens"]


def test_sinks_have_their_share_of_the_sums_where_they_are_apart():
    survey = plain()
    sizes = {name: survey.sizes[name] for name in ("layer", "head")}
    totals = np.zeros((survey.sizes["measure"], *sizes.values(), 2))
    for measure, part in (("weight", 0.8), ("norm", 0.3)):
        totals[list(survey["measure"].values).index(measure)] = 2 * part, 2 * (1 - part)
    axes = ("measure", "layer", "head", "key_group")
    survey = survey.assign(group_total=(axes, totals)).assign_coords(key_group=["sink", "other"])
    said = "80% of the weight goes to sinks, but 30% of the norm, at most half as much."
    assert weight_and_norm(survey, "sink") == said


@pytest.mark.slow
def test_every_finding_about_a_head_has_a_view_that_shows_its_number():
    for seed in range(5):
        result = survey_sample(4, 4, seed=seed)
        views = head_grid(result).views
        for each in highlights(result):
            if each.head is None:
                assert each.question == ""
                continue
            view = views[f"{each.question}.{each.measure}"]
            value = view["values"][each.layer * 4 + each.head]
            assert percent(value) in each.text or f"{value:.2f}" in each.text


def test_nothing_is_said_of_pieces_where_texts_are_one_word():
    result = survey_sample(6, 8)
    sizes = [result.sizes["measure"], 1, 6, 8]
    for end in ("", "_low", "_high"):
        axes = ("measure", "behaviour", "layer", "head")
        result[f"behaviour_share{end}"] = axes, np.full(sizes, 0.2)
        result[f"behaviour_share{end}"][:, :, 0, 0] = 0.9
    result["neighbour"][:] = 0.1
    result = result.assign_coords(behaviour=["subword"])
    said = by_kind(result.assign_attrs(examples=40, one_word=20))["subword"]
    assert said.startswith("Head L0H0 gives 90% of its norm")
    assert "to earlier pieces of the word." in said
    assert "subword" not in by_kind(result.assign_attrs(examples=40, one_word=21))
