"""The rules by which findings of Brunner et al. hold, on results made by hand."""

import re

import numpy as np
import pytest
import xarray

from headlight_papers.papers.brunner2020.claims import (
    easier_downwards,
    far_context_is_deep,
    in_the_angle,
    keeps_identity,
    less_correlated,
    local,
    mixes,
    not_identifiable,
    peak_vanishes,
    still_largest,
)
from papers.material import ended, separators


def test_alternatives_hold_if_they_change_no_more_than_rounding_does():
    def tried(change: float, moved: float = 0.9) -> xarray.Dataset:
        numbers = {"difference": change, "rounding": 1e-6, "most": moved}
        return xarray.Dataset({name: ("layer", [value]) for name, value in numbers.items()})

    assert not_identifiable(tried(9e-6)).answer is True
    assert not_identifiable(tried(2e-5)).answer is False
    assert not_identifiable(tried(0.0, moved=0.0)).answer is False


@pytest.mark.parametrize(
    ("correlation", "holds"),
    [([1.0, 1.0, 0.5], True), ([1.0, 0.99, 0.5], False), ([1.0, 1.0, 1.0], False)],
)
def test_correlation_must_be_one_in_short_texts_and_fall(correlation, holds):
    lengths = xarray.Dataset(
        {
            "effective_correlation": ("length", correlation),
            "effective_correlation_low": ("length", correlation - np.array([0, 0, 1e-4])),
            "effective_correlation_high": ("length", correlation + np.array([0, 0, 1e-4])),
            "keys_mean": ("length", [8.0, 16.0, 64.0]),
            "head_dim": ("layer", [32]),
        }
    )
    assert less_correlated(lengths).answer is holds


def test_a_peak_vanishes_if_less_than_half_of_it_is_left():
    share = np.array([[[0.1, 0.1], [0.6, 0.4]], [[0.1, 0.1], [0.2, 0.2]]])
    assert peak_vanishes(separators(share, 0.01)).answer is True
    near = separators(share * [[[1]], [[1.3]]], 0.01)
    assert peak_vanishes(near).answer is None  # 0.26 ± 0.02
    assert peak_vanishes(separators(share * [[[1]], [[1.5]]], 0.01)).answer is False


def test_identity_is_judged_in_the_last_layer():
    rates = xarray.DataArray(
        [[0.9, 0.85], [0.95, 0.6]], dims=("loss", "layer"), coords={"loss": ["cosine", "l2"]}
    ) + xarray.DataArray([-0.01, 0.0, 0.01], dims="fold")
    assert keeps_identity(rates).answer is True
    assert keeps_identity(rates - 0.1).answer is False


@pytest.mark.parametrize(
    ("cosine", "square", "holds", "said"),
    [
        ((0.95, 0.93, 0.94), (0.92, 0.905, 0.91), True, "2.83 (2.12 to 3.55)"),
        # Differences of 0.02, 0.02 and −0.01: 0.01 on average, with a standard error of 0.01.
        ((0.95, 0.93, 0.90), (0.93, 0.91, 0.91), None, "1.00 (−3.30 to 5.30)"),
        ((0.90, 0.91, 0.92), (0.92, 0.93, 0.945), False, "−2.17 (−2.88 to −1.45)"),
        ((0.95,), (0.94,), None, "1.00"),
    ],
)
def test_cosine_is_better_if_that_is_more_than_chance_over_splits(cosine, square, holds, said):
    rates = xarray.DataArray(
        [cosine, square], dims=("loss", "fold"), coords={"loss": ["cosine", "l2"]}
    )
    claim = in_the_angle(rates)
    assert claim.answer is holds
    assert said in claim.ours
    # The table of findings and the exhibit show one verdict, of the same numbers.
    shown = claim.comparison
    assert (shown.quantity, shown.note) == (claim.rule, claim.ours)
    words = {True: ("yes", "holds"), False: ("no", "does not hold"), None: ("inconclusive",) * 2}
    assert (shown.ours, claim.verdict) == words[holds]


def test_maps_are_compared_above_and_below_their_layer():
    values = np.array([[0.9, 0.4, 0.4], [0.8, 0.9, 0.4], [0.8, 0.81, 0.9]])
    dims = ("layer", "tested_layer")
    for rates, holds in ((values, True), (values.T, False)):
        claim = easier_downwards(xarray.DataArray(rates, dims=dims))
        assert claim.answer is holds
        assert {"80.3%", "40.0%"} <= set(re.findall(r"[\d.]+%", claim.ours))
    assert easier_downwards(xarray.DataArray([[0.9]], dims=dims)).answer is None


def test_contributions_fall_stay_largest_and_are_local():
    def found(medians, last, neighbours, near, far) -> xarray.Dataset:
        return xarray.Dataset(
            {
                "own_box": (("group", "layer", "mark"), np.array(medians)[None, :, None]),
                **ended("own_mean", ("group", "layer"), [[0.3, 0.1]], 0.002),
                **ended("not_largest", ("layer",), [0.0, last], 0.02),
                "neighbour_share": (("layer", "offset"), neighbours),
                "by_distance_share": (("distance", "layer"), [near, far]),
            },
            coords={
                "group": ["all"],
                "mark": ["median"],
                "offset": [-2, -1, 0, 1, 2],
                "distance": ["1", "11+"],
            },
        )

    beside = [[0.1, 0.4, np.nan, 0.3, 0.2]] * 2
    good = found([0.3, 0.1], 0.3, beside, [0.6, 0.4], [0.2, 0.8])
    bad = found([0.3, 0.4], 0.6, [beside[0], [0.5, 0.2, np.nan, 0.2, 0.1]], [0.4, 0.6], [0.8, 0.2])
    for rule in (mixes, still_largest, local, far_context_is_deep):
        assert rule(good).answer is True, rule
        assert rule(bad).answer is False, rule
    assert local(bad).ours == "in 1 of 2 layers"
