"""Resampled means against their definition, and against the normal interval of a mean."""

import numpy as np
import pytest

from headlight.reduce import Bootstrap, ResampledMean


def test_every_resample_is_the_mean_of_what_it_took() -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(50, 3))
    rows[generator.random(rows.shape) < 0.2] = np.nan
    keys = np.arange(50)
    taken = Bootstrap.of(keys, np.eye(50, dtype=int), replicates=40, seed=3)
    means = []
    for times in taken.compute()["replicates"]:
        weights = np.where(np.isnan(rows), 0, times[:, None])
        means.append((weights * np.nan_to_num(rows)).sum(0) / weights.sum(0))
    found = ResampledMean.of(keys, rows, replicates=40, seed=3).compute()
    np.testing.assert_allclose(found["mean"], np.nanmean(rows, axis=0))
    np.testing.assert_allclose(found["low"], np.quantile(means, 0.025, axis=0))
    np.testing.assert_allclose(found["high"], np.quantile(means, 0.975, axis=0))
    np.testing.assert_array_equal(found["count"], (~np.isnan(rows)).sum(0))


def test_the_interval_is_that_of_a_mean() -> None:
    rows = np.random.default_rng(1).normal(5, 2, 400)
    found = ResampledMean.of(np.arange(400), rows, replicates=2000, seed=0).compute()
    half = 1.96 * rows.std() / 20
    assert found["low"] == pytest.approx(rows.mean() - half, abs=0.03)
    assert found["high"] == pytest.approx(rows.mean() + half, abs=0.03)


def test_what_was_never_seen_has_neither_mean_nor_interval() -> None:
    found = ResampledMean.of(np.arange(2), np.full((2, 1), np.nan), replicates=3, seed=0).compute()
    assert all(np.isnan(found[name]).all() for name in ("mean", "low", "high"))
    alone = ResampledMean.of(np.arange(2), np.ones(2), replicates=0, seed=0).compute()
    assert alone["mean"] == 1
    assert np.isnan(alone["low"])


def test_a_single_cluster_has_no_interval() -> None:
    rows = np.array([[0.3, np.nan], [0.5, 0.7], [np.nan, np.nan]])
    found = ResampledMean.of(np.arange(3), rows, replicates=50, seed=0).compute()
    np.testing.assert_allclose(found["mean"], [0.4, 0.7])
    for end in ("low", "high"):
        assert np.isfinite(found[end]).tolist() == [True, False]


def test_keys_and_observations_must_fit() -> None:
    with pytest.raises(ValueError, match="3 keys do not fit 2 observations"):
        ResampledMean().update(np.arange(3), np.ones(2))
