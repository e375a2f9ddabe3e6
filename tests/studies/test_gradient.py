"""The gradient as a measure of surveys and distances, against autograd on one text at a time."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

from headlight.capture import (
    CapturedModel,
    CausalLanguageModel,
    MaskedLanguageModel,
    default_objective,
)
from headlight.encode.batch import collate
from headlight.errors import MissingHeadError, UsageError
from headlight.studies.distances import DistanceSettings
from headlight.studies.distances.study import run as head_distances
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey
from studies import naive
from studies.models import SETTINGS, VOCABULARY, subject, texts, tokenizer
from studies.test_distances import summed
from studies.test_numbers import examples_of
from tiny_models import randomise

MASKED = MaskedLanguageModel(
    mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
)
CAUSAL = CausalLanguageModel()
HEADS = {"bert": (AutoModelForMaskedLM, MASKED), "llama": (AutoModelForCausalLM, CAUSAL)}


def with_head(family: str) -> CapturedModel:
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(family, **{**tokens, **SETTINGS[family]})
    model = HEADS[family][0].from_config(config)
    randomise(model, torch.Generator().manual_seed(5))
    return CapturedModel(model.eval(), tokenizer(family), family, "1")


def gradients(found, examples, objective):
    """For each text |∂L/∂α| and α, [layer, head, query, key], and the categories of its tokens."""
    model = found.transformer
    model.set_attn_implementation("eager")
    for example in examples:
        prepared = objective.prepare(collate([example], 0))
        maps = model(**found.inputs(prepared), output_attentions=True)
        for one in maps.attentions:
            one.retain_grad()
        objective.loss(maps, prepared)[0].backward()
        gradient, weight = (
            np.stack([one[0].detach().double().numpy() for one in given])
            for given in ([one.grad.abs() for one in maps.attentions], maps.attentions)
        )
        if model.config.model_type == "llama":
            gradient = np.tril(gradient)  # a weight that cannot be has no gradient
        yield gradient, weight, prepared.category[0].tolist()
        model.zero_grad()
    model.set_attn_implementation("sdpa")


def entropies(score, categories):
    """Of the queries on which the loss depends, averaged by category of the query."""
    found = np.full(score.shape[0], np.nan)
    for query, row in enumerate(score):
        if row.sum() > 0:
            share = row[row > 0] / row.sum()
            found[query] = -(share * np.log(share)).sum()
    groups = naive._classes(categories)
    return np.array(
        [np.nan if np.isnan(found[group]).all() else np.nanmean(found[group]) for group in groups]
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_shares_neighbours_and_entropy(family):
    found, corpus, objective = with_head(family), texts(5, seed=5), HEADS[family][1]
    settings = SurveySettings(measures=("gradient", "weight"))
    result = survey(corpus, found, settings, objective=objective, progress=False)
    examples = examples_of(found, corpus)
    seen = list(gradients(found, examples, objective))
    for measure, index in (("gradient", 0), ("weight", 1)):
        of = result.sel(measure=measure)
        for layer, head in np.ndindex(2, 4):
            maps = [one[index][layer, head] for one in seen]
            pairs = list(zip(maps, [one[2] for one in seen], strict=True))
            total = naive.nan_mean([naive.pooled(m, c, c) for m, c in pairs])
            whole = total.sum(-1, keepdims=True) if measure == "gradient" else 1.0
            whole = np.where(whole == 0, np.nan, whole)  # a category on which no loss depends
            neighbour = naive.nan_mean([naive.neighbours(m) for m in maps])
            neighbour /= total[0].sum() if measure == "gradient" else 1.0
            entropy = naive.nan_mean([entropies(m, c) for m, c in pairs])
            for name, wanted in (
                ("total", total), ("share", total / whole),
                ("neighbour", neighbour), ("entropy", entropy),
            ):  # fmt: skip
                np.testing.assert_allclose(
                    of[name].isel(layer=layer, head=head), wanted, rtol=1e-4, atol=1e-6,
                    err_msg=f"{measure} {name} {layer}-{head}",
                )  # fmt: skip


def test_distances():
    found, corpus = with_head("llama"), texts(4, seed=6)
    settings = DistanceSettings(measures=("gradient",))
    result = head_distances(corpus, found, settings, objective=CAUSAL, progress=False)
    total, queries = 0.0, 0
    for gradient, _, _ in gradients(found, examples_of(found, corpus), CAUSAL):
        rows = gradient.reshape(8, *gradient.shape[2:])
        silent = rows.sum(-1, keepdims=True) == 0
        assert silent.any()  # nothing is predicted after the last token
        total = total + summed(rows + silent, 0.001)
        queries += rows.shape[1]
    np.testing.assert_allclose(result["distance"][0], total / queries, rtol=1e-4, atol=1e-6)


def test_what_the_gradient_needs():
    found = subject("bert")
    with pytest.raises(MissingHeadError, match="no language-model head"):
        survey(["the sea"], found, SurveySettings(measures=("gradient",)), progress=False)
    with pytest.raises(UsageError, match="no measure needs it; add 'gradient'"):
        survey(["the sea"], found, objective=MASKED, progress=False)
    bart, settings = subject("bart"), SurveySettings(measures=("gradient",))
    with pytest.raises(UsageError, match="needs two texts per example"):
        survey(["the sea"], bart, settings, objective=MASKED, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "settings"), [(survey, SurveySettings), (head_distances, DistanceSettings)]
)
def test_the_seed_says_which_tokens_a_loss_hides(run, settings):
    found, corpus = with_head("bert"), texts(4, seed=6)
    found.tokenizer.mask_token = "<unk>"
    asked = settings(measures=("gradient",), seed=3)
    hidden = default_objective(found, seed=3)
    first, same, other = (
        run(corpus, found, each, objective=objective, progress=False)
        for each, objective in ((asked, None), (asked, hidden), (asked.replace(seed=4), None))
    )
    name = "total" if run is survey else "distance"
    np.testing.assert_array_equal(first[name], same[name])
    assert not np.array_equal(first[name], other[name], equal_nan=True)
