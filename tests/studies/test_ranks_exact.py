"""Rank correlations of a trained model's real pairs, against SciPy on the stored pairs."""

from itertools import islice

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from headlight.capture import load_model
from headlight.corpora import SAMPLE_TEXT, open_corpus
from headlight.encode.batch import collate
from headlight.engine.text_plan import plan_text_study
from headlight.measures import Scores
from headlight.vocabulary import CATEGORIES
from studies.chosen_numbers import settings_for, survey_with

EXAMPLES = 6
ALLOWED = {
    "weight_norm_spearman": 1e-3,
    "weight_norm_spearman_by_head": 1e-2,
}
"""All heads together, one head: the fewer the pairs, the coarser the ranks."""


@pytest.fixture(scope="module")
def model():
    return load_model(dtype="float32", device="cpu")


@pytest.fixture(scope="module")
def settings():
    # One text at a time, so that both see the very same float32 numbers, ties included.
    few = {"max_length": 96, "max_examples": EXAMPLES, "batch_tokens": 1}
    return settings_for("ranks", pairs=True, **few)


@pytest.fixture(scope="module")
def pairs(model, settings):
    """(layer, category) -> α and ‖f(x)‖, each [head, pair]."""
    stored: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    plan = plan_text_study("survey", "", open_corpus(SAMPLE_TEXT), model, settings)
    for example in islice(plan.examples, EXAMPLES):
        batch = collate([example], pad_id=0)
        with model.capture() as recorder:
            recorder.visit = lambda record, batch=batch: keep(stored, record, batch.category[0])
            model.run(batch)
    return {
        place: tuple(np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        for place, found in stored.items()
    }


def keep(stored, record, category) -> None:
    scores = Scores(record, precision=torch.float32)
    weight, norm = scores.weight[0], scores.vector_norm[0].float()
    for number in range(len(CATEGORIES)):
        chosen = category == number
        first = weight[:, :, chosen].flatten(1).numpy()
        second = norm[:, None, chosen].expand(-1, weight.shape[1], -1).flatten(1).numpy()
        stored.setdefault((record.site.layer, number), []).append((first, second))


@pytest.mark.slow
def test_the_ranks_of_all_pairs_are_scipys(model, settings, pairs):
    result = survey_with("ranks", None, model, settings)
    layers = range(result.sizes["layer"])
    for number, category in enumerate(CATEGORIES):
        here = result.sel(key_group=category)
        first, second = (
            np.stack([pairs[layer, number][side] for layer in layers]) for side in (0, 1)
        )
        compare(here, "weight_norm_spearman", {}, first, second)
        for layer in layers:
            for head in range(first.shape[1]):
                place = {"layer": layer, "head": head}
                one, two = first[layer, head], second[layer, head]
                compare(here, "weight_norm_spearman_by_head", place, one, two)


def compare(here, name, place, first, second) -> None:
    found = float(here[name].sel(place))
    if not place:
        assert int(here[f"{name}_count"]) == first.size
    if np.ptp(second) == 0:  # [CLS] enters the first layer as the same vector in every text
        assert np.isnan(found)
        return
    exact = spearmanr(first.ravel(), second.ravel()).statistic
    assert abs(found - exact) <= ALLOWED[name], (name, place, found, exact)
