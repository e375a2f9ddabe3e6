"""Intervals of the studies of papers, as `test_intervals` looks at those of others."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headlight.settings.attribution import AttributionSettings
from headlight_papers.studies.attribution import AttributionStudySettings
from headlight_papers.studies.attribution.study import run as attribution
from headlight_papers.studies.token_identity.dataset import _over_folds
from studies.intervals import agrees
from studies.models import model, texts
from studies.test_intervals import TEXTS, singles, values


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value")
def test_contributions_of_tokens_of_a_text_belong_together():
    settings = AttributionStudySettings(
        attribution=AttributionSettings(method="exact"), exact=0, reach=5
    )
    found, corpus = model("bert"), texts(TEXTS, seed=14)
    whole = attribution(corpus, found, settings, progress=False)
    runs = singles(attribution, corpus, found, settings)
    counts = values(runs, "own_count").astype(float)[..., None]
    agrees(whole, "own_mean", values(runs, "own_mean") * counts, counts)
    agrees(whole, "not_largest", values(runs, "not_largest") * counts[:, 0], counts[:, 0])
    there = values(runs, "by_distance_count").astype(float)[:, None]
    agrees(whole, "by_distance", values(runs, "by_distance") * there, there)
    for name in ("neighbour", "cls", "sep"):
        pairs = values(runs, f"{name}_count").astype(float)[:, None]
        agrees(whole, f"{name}_mean", values(runs, f"{name}_mean") * pairs, pairs)


def test_rates_have_the_interval_of_their_folds():
    rates = np.array([[0.9, 0.8, 0.85], [0.5, 0.5, 0.5]])
    result = _over_folds(xr.Dataset({"rate": (("map", "fold"), rates)}))
    half = stats.t.ppf(0.975, 2) * stats.sem(rates, axis=1)
    np.testing.assert_allclose(result["rate_mean"], rates.mean(1))
    np.testing.assert_allclose(result["rate_mean_low"], rates.mean(1) - half)
    np.testing.assert_allclose(result["rate_mean_high"], rates.mean(1) + half)
    alone = _over_folds(xr.Dataset({"rate": (("map", "fold"), rates[:, :1])}))
    assert np.isnan(alone["rate_mean_low"]).all()
