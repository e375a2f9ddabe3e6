"""Intervals of studies over a corpus, against those that are made of runs over single texts."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headlight.findings.estimates import by_length
from headlight.studies.distances.study import run as distances
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey
from studies.chosen_numbers import survey_with
from studies.intervals import agrees
from studies.models import model, texts
from studies.test_importance import OBJECTIVES, with_head

importance, ranks, null_space = (
    partial(survey_with, name) for name in ("importance", "ranks", "null_space")
)
TEXTS = 5
CLASSES: dict[str, list[str]] = {"bert": [], "llama": ["class_share"]}
"""Shares to kinds of keys, which a decoder has."""


def singles(study, corpus: Sequence[str], *given) -> list[xr.Dataset]:
    return [study([text], *given) for text in corpus]


def values(runs: Sequence[xr.Dataset], name: str) -> np.ndarray:
    return np.stack([run[name].values for run in runs])


@pytest.mark.slow
def test_means_of_gradients_are_those_of_texts():
    found, corpus = with_head("llama"), texts(TEXTS, seed=11)
    whole = importance(corpus, found, objective=OBJECTIVES["llama"])
    runs = [importance([text], found, objective=OBJECTIVES["llama"]) for text in corpus]
    for name in ("importance", "loss"):
        rows = values(runs, name)
        with np.errstate(invalid="ignore"):
            agrees(whole, name, rows, np.ones_like(rows))


@pytest.mark.slow
def test_correlations_are_one_number_of_a_text():
    found, corpus = model("bert"), texts(TEXTS, seed=12, longest=24)
    whole, runs = null_space(corpus, found), singles(null_space, corpus, found)
    single = np.array([run["effective_correlation"].item() for run in runs])
    agrees(whole, "effective_correlation_whole", single, np.ones(TEXTS))
    bins = np.array([run["length"].item() for run in runs])
    of_length = by_length(whole)
    for place, length in enumerate(whole["length"].values):
        here = single[bins == length]
        ends = of_length.low[place], of_length.high[place]
        if len(here) > 3:
            half = stats.t.ppf(0.975, len(here) - 1) * stats.sem(here)
            clipped = max(here.mean() - half, -1), min(here.mean() + half, 1)
            np.testing.assert_allclose(ends, clipped, rtol=2e-3)
        else:
            assert np.isnan(ends).all()


@pytest.mark.slow
def test_distances_count_texts_by_their_queries():
    found, corpus = model("bert"), texts(TEXTS, seed=13)
    quiet = partial(distances, progress=False)
    whole, runs = quiet(corpus, found), singles(quiet, corpus, found)
    queries = np.array([float(run.attrs["tokens"]) for run in runs]).reshape(-1, 1, 1, 1)
    agrees(whole, "distance", values(runs, "distance") * queries, queries)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_numbers_of_a_survey_are_moved_by_what_they_are_without_a_text(family):
    found, corpus = model(family), texts(TEXTS, seed=15)
    whole, runs = ranks(corpus, found), singles(ranks, corpus, found)
    agrees_of_texts(whole, runs, ["vector_norm_by_category"])
    quiet = partial(survey, progress=False)
    settings = SurveySettings(passages=False, token_types=0)
    whole = quiet(corpus, found, settings)
    runs = [quiet([text], found, settings) for text in corpus]
    names = ["entropy", "value_drain", "rank", "sink_rate", "residual_max"]
    agrees_of_texts(whole, runs, names)
    for name in ("behaviour_share", "first_share", "share", "neighbour", *CLASSES[family]):
        agrees_of_texts(
            whole.sel(measure=["weight"]), [run.sel(measure=["weight"]) for run in runs], [name]
        )
    sizes = np.array([float(run.attrs["tokens"]) for run in runs])
    lengths = values(runs, "vector_norm_mean")
    agrees(whole, "vector_norm_mean", lengths * sizes[:, None, None], sizes[:, None, None])


def agrees_of_texts(whole: xr.Dataset, runs: Sequence[xr.Dataset], names: Sequence[str]) -> None:
    for name in names:
        rows = values(runs, name)
        agrees(whole, name, rows, np.ones_like(rows))
