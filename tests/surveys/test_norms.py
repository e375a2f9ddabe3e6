"""A study of norms against loops over all pairs, and what it must not depend on."""

from itertools import product

import numpy as np
import pytest
import xarray

from headlight.capture import Subject
from headlight.surveys.frequency import FrequencyRanks
from headlight.surveys.norms import norm_study
from headlight.surveys.norms_settings import NormOptions
from headlight.surveys.plan import planned
from headlight.surveys.settings import Settings
from headlight.surveys.sinks import find_sinks
from surveys.norms_naive import Study
from surveys.subjects import documents, subject, texts

PAIRS = [" \n\n ".join(document.paragraphs) for document in documents(6)]
SINKS = NormOptions(sinks="on", sink_multiple=1.1, sink_share=0.2)
CASES = {
    "bert": ("bert", "encoder", NormOptions()),
    "llama": ("llama", "decoder", SINKS),
    "bart cross": ("bart", "cross", SINKS),
    "bart decoder": ("bart", "decoder", NormOptions(sinks="off")),
    "t5": ("t5", "encoder", SINKS),
}


def study(found: Subject, corpus=None, settings=None, **options) -> xarray.Dataset:
    corpus = texts(9, longest=12) if corpus is None else corpus
    return norm_study(corpus, found, settings, progress=False, **options)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    family, kind, options = CASES[request.param]
    found = subject(family)
    settings = Settings(pairs=family == "bart", kind=kind, batch_tokens=60)
    result = study(found, PAIRS, settings, options=options)
    plan = planned(PAIRS, found, settings, stage="norms")
    sinks = find_sinks(plan, options) if "sink" in result["key_category"] else None
    examples = list(plan.examples)
    target = family == "bart" and kind == "decoder"
    ranks = FrequencyRanks.of_corpus(examples, found.tokenizer, target=target)
    return result, Study(found.transformer, family, kind, examples, ranks.rank, sinks)


def test_weights_and_norms_by_category(case):
    result, naive = case
    for name, variable in (
        ("weight", "weight_total"),
        ("weighted_norm", "weighted_norm_total"),
        ("norm", "vector_norm_by_category"),
    ):
        seen = np.array(naive.totals[name])
        count = np.isfinite(seen).sum(axis=0)
        means = np.where(count > 0, np.nansum(seen, axis=0) / np.maximum(count, 1), np.nan)
        np.testing.assert_allclose(result[variable], means, rtol=1e-5, atol=1e-6, err_msg=variable)
    there = np.isfinite(naive.totals["norm"]).sum(axis=0)[0, 0]
    np.testing.assert_array_equal(result["documents_by_category"], there)
    np.testing.assert_array_equal(result["token_count"], naive.tokens)
    np.testing.assert_allclose(result["weight_total"].sum("key_category"), 1, rtol=1e-5)


def test_dispersion(case):
    result, naive = case
    norms = np.array([norm for _, _, norm in naive.occurrences])
    for name, expected in (
        ("mean", norms.mean(axis=0)),
        ("std", norms.std(axis=0)),
        ("cv", norms.std(axis=0) / norms.mean(axis=0)),
        ("min", norms.min(axis=0)),
        ("max", norms.max(axis=0)),
    ):
        np.testing.assert_allclose(result[f"vector_norm_{name}"], expected, rtol=1e-4)
    layers = result.sizes["layer"]
    inputs = [np.concatenate(naive.lengths[number::layers]) for number in range(layers)]
    np.testing.assert_allclose(
        result["input_norm_mean"], [each.mean() for each in inputs], rtol=1e-4
    )
    np.testing.assert_allclose(result["input_norm_std"], [each.std() for each in inputs], rtol=1e-3)


def test_correlations_of_all_pairs(case):
    result, naive = case
    for category, name in enumerate(result["key_category"].values):
        here = result.sel(key_category=name)
        check(here, "correlation", {}, *naive.correlation(None, None, category))
        for layer in range(2):
            place = {"layer": layer}
            check(here, "correlation_by_layer", place, *naive.correlation(layer, None, category))
            for head in range(4):
                place = {"layer": layer, "head": head}
                check(here, "correlation_by_head", place, *naive.correlation(layer, head, category))


def check(result: xarray.Dataset, name: str, place: dict[str, int], rho: float, count: int) -> None:
    """Rounding may tear ties apart, so some thousandths beyond the bound are allowed."""
    assert int(result[f"{name}_count"].sel(place)) == count
    found, bound = (float(result[each].sel(place)) for each in (name, f"{name}_error_bound"))
    assert np.isnan(found) == np.isnan(rho), (name, place)
    if not np.isnan(rho):
        assert 0 <= bound < 0.3
        assert abs(found - rho) <= min(bound, 0.02) + 2e-3, (name, place)


def test_correlations_with_frequency(case):
    result, naive = case
    for number, quantity in enumerate(("weight", "norm")):
        here = result.sel(quantity=quantity)
        count = len(naive.occurrences)
        check(here, "frequency_correlation", {}, naive.frequency(number, None, None), count)
        for layer, head in product(range(2), range(4)):
            place = {"layer": layer}
            rho = naive.frequency(number, layer, None)
            check(here, "frequency_correlation_by_layer", place, rho, count)
            rho = naive.frequency(number, layer, head)
            check(here, "frequency_correlation_by_head", {**place, "head": head}, rho, count)
