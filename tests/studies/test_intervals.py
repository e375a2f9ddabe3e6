"""Intervals of studies over a corpus, against those that are made of runs over single texts."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headlight.analysis.batch_texts import groups_of
from headlight.reduce.group_means import GROUPS
from headlight.studies.distances.study import run as distances
from studies.chosen_numbers import survey_with
from studies.intervals import agrees as ratio_agrees
from studies.models import model, texts
from studies.test_importance import OBJECTIVES, with_head
from studies.test_numbers import examples_of

importance, ranks, null_space = (
    partial(survey_with, name) for name in ("importance", "ranks", "null_space")
)
TEXTS = 5
BOUNDS = {"share": (0, 1), "correlation": (-1, 1), "positive": (0, np.inf)}


def singles(study, corpus: Sequence[str], *given) -> list[xr.Dataset]:
    return [study([text], *given) for text in corpus]


def agrees(result: xr.Dataset, name: str, value: np.ndarray, half: np.ndarray) -> None:
    """The ends are so far from the value; with the digits of numbers that models make."""
    for end, sign in (("low", -1), ("high", 1)):
        found = result[f"{name}_{end}"]
        expected = np.clip(value + sign * half, *BOUNDS[found.attrs.get("scale", "share")])
        np.testing.assert_allclose(found.values, expected, rtol=2e-3, atol=2e-6, err_msg=name)
    assert np.isfinite(half).any()


def of_mean(rows: np.ndarray, fewest: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Student's t over texts; those without a number do not count."""
    count = np.isfinite(rows).sum(0)
    freedom = np.where(count >= fewest, count - 1, np.nan)
    deviation = np.nanstd(rows, axis=0) * np.sqrt(count / freedom)
    half = stats.t.ppf(0.975, freedom) * deviation / np.sqrt(count)
    return np.nanmean(rows, axis=0), np.asarray(half)


def of_ratio(parts: np.ndarray, wholes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The linearised ratio: residuals of the parts from the ratio times the wholes."""
    seen = np.isfinite(parts + wholes)
    part, whole = np.where(seen, parts, 0), np.where(seen, wholes, 0)
    count = seen.sum(0)
    freedom = np.where(count > 3, count - 1, np.nan)
    ratio = part.sum(0) / whole.sum(0)
    residuals = np.where(seen, part - ratio * whole, 0)
    error = np.sqrt((residuals**2).sum(0) / (count * freedom)) / (whole.sum(0) / count)
    return ratio, stats.t.ppf(0.975, freedom) * error


def values(runs: Sequence[xr.Dataset], name: str) -> np.ndarray:
    return np.stack([run[name].values for run in runs])


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom",
                            "ignore:invalid value")  # fmt: skip
def test_means_of_gradients_are_those_of_texts():
    found, corpus = with_head("llama"), texts(TEXTS, seed=11)
    whole = importance(corpus, found, objective=OBJECTIVES["llama"])
    runs = [importance([text], found, objective=OBJECTIVES["llama"]) for text in corpus]
    for name in ("importance", "loss"):
        agrees(whole, name, *of_mean(values(runs, name)))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom",
                            "ignore:invalid value")  # fmt: skip
def test_correlations_are_one_number_of_a_text():
    found, corpus = model("bert"), texts(TEXTS, seed=12, longest=24)
    whole, runs = null_space(corpus, found), singles(null_space, corpus, found)
    single = np.array([run["effective_correlation"].item() for run in runs])
    agrees(whole, "effective_correlation_whole", *of_mean(single))
    bins = np.array([run["length"].item() for run in runs])
    for place, length in enumerate(whole["length"].values):
        here = whole.isel(length=place)
        if (bins == length).sum() > 3:
            agrees(here, "effective_correlation", *of_mean(single[bins == length]))
        else:
            assert np.isnan(here["effective_correlation_low"])


def test_distances_count_texts_by_their_queries():
    found, corpus = model("bert"), texts(TEXTS, seed=13)
    quiet = partial(distances, progress=False)
    whole, runs = quiet(corpus, found), singles(quiet, corpus, found)
    queries = np.array([float(run.attrs["tokens"]) for run in runs]).reshape(-1, 1, 1, 1)
    between = values(runs, "distance")
    ratio_agrees(whole, "distance", between * queries, queries)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom",
                            "ignore:invalid value")  # fmt: skip
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_lengths_have_those_of_texts_and_of_groups_of_texts(family):
    found, corpus = model(family), texts(TEXTS, seed=15)
    whole, runs = ranks(corpus, found), singles(ranks, corpus, found)
    agrees(whole, "vector_norm_by_category", *of_mean(values(runs, "vector_norm_by_category")))
    sizes = values(runs, "token_count").sum(1)
    groups = groups_of(examples_of(found, corpus))
    for name in ("vector_norm", "input_norm"):
        means, stds = values(runs, f"{name}_mean"), values(runs, f"{name}_std")
        for what, statistic in STATISTICS.items():
            agrees(whole, f"{name}_{what}", *jackknife(statistic, means, stds, sizes, groups))


def jackknife(statistic, means, stds, sizes, groups) -> tuple[np.ndarray, np.ndarray]:
    """A statistic of lengths and half its interval, of what it is without each group of texts."""
    share = np.bincount(groups, sizes, minlength=GROUPS) / sizes.sum()
    value = statistic(means, stds, sizes)
    squares = np.zeros_like(value)
    for group in np.unique(groups):
        rest = groups != group
        without = statistic(means[rest], stds[rest], sizes[rest])
        squares += ((1 - share[group]) * (without - value)) ** 2 / (1 - (share**2).sum())
    return value, stats.t.ppf(0.975, 1 / (share**2).sum() - 1) * np.sqrt(squares)


def _mean(means, stds, sizes):
    return np.average(means, axis=0, weights=sizes)


def _std(means, stds, sizes):
    return np.sqrt(np.average(stds**2 + means**2, axis=0, weights=sizes)
                   - _mean(means, stds, sizes) ** 2)  # fmt: skip


STATISTICS = {
    "mean": _mean,
    "std": _std,
    "cv": lambda *given: _std(*given) / _mean(*given),
}
