"""Ranks of a survey against loops over all pairs, and what it must not depend on."""

import json
from functools import reduce
from itertools import product

import numpy as np
import pytest
import torch
import xarray

from headlight.capture import CapturedModel
from headlight.encode.batch import collate
from headlight.encode.texts import count_types
from headlight.engine.folder import RunFolder
from headlight.engine.plan import Pass
from headlight.engine.text_plan import plan_text_study
from headlight.errors import RunError, UsageError
from headlight.findings.no_op_heads import no_op
from headlight.observations.positions import Positions, Texts
from headlight.reduce import Sample, Tally
from headlight.result import load
from headlight.studies.survey.frequency_ranks import FrequencyRanks, Occurrences
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome
from headlight.studies.survey.ranks import Known, RankObserver
from headlight.studies.survey.sink_tokens import find_sinks
from headlight.studies.survey.study import dataset
from headlight.vocabulary import CATEGORIES
from studies.chosen_numbers import only, settings_for, survey_with
from studies.models import VOCABULARY, documents, model, texts, uneven
from studies.ranks_naive import Study, ranks_of_corpus

PAIRS = [" \n\n ".join(document.paragraphs) for document in documents(6)]
SINKS = settings_for("ranks", sinks="on", sink_multiple=1.1, sink_share=0.2)
MEASURES = ("weight", "norm")
CASES = {
    "bert": ("bert", "encoder", settings_for("ranks")),
    "llama": ("llama", "decoder", SINKS),
    "bart cross": ("bart", "cross", SINKS),
    "bart decoder": ("bart", "decoder", settings_for("ranks", sinks="off")),
    "t5": ("t5", "encoder", SINKS),
}


def study(found: CapturedModel, corpus=None, settings=None, **more) -> xarray.Dataset:
    corpus = texts(9, longest=12) if corpus is None else corpus
    return survey_with("ranks", corpus, found, settings, **more)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    family, kind, settings = CASES[request.param]
    found = model(family)
    settings = settings.replace(pairs=family == "bart", kind=kind, batch_tokens=60)
    result = study(found, PAIRS, settings)
    plan = plan_text_study("survey", "", PAIRS, found, settings)
    sinks = find_sinks(plan, settings) if "sink" in result["key_group"] else None
    examples = list(plan.examples)
    target = family == "bart" and kind == "decoder"
    ranks = ranks_of_corpus(examples, found.tokenizer, target=target)
    return result, Study(found.transformer, family, kind, examples, ranks.rank, sinks)


@pytest.mark.slow
def test_weights_and_norms_by_category(case):
    result, naive = case
    weight, norm = (totals_of(result, name) for name in ("weight", "norm"))
    for name, values in (
        ("weight", weight),
        ("weighted_norm", norm),
        ("norm", result["vector_norm_by_category"]),
    ):
        seen = np.array(naive.totals[name])
        count = np.isfinite(seen).sum(axis=0)
        means = np.where(count > 0, np.nansum(seen, axis=0) / np.maximum(count, 1), np.nan)
        np.testing.assert_allclose(values, means, rtol=1e-5, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(result["token_count"], naive.tokens)
    np.testing.assert_allclose(weight.sum(weight.dims[-1]), 1, rtol=1e-5)


def totals_of(result: xarray.Dataset, measure: str) -> xarray.DataArray:
    """What categories of keys receive, sinks being one where they were looked for."""
    found = result if "group_total" in result else result.sel(query_category="all")
    name = "group_total" if "group_total" in result else "total"
    return found[name].sel(measure=measure)


@pytest.mark.slow
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
    for category, name in enumerate(result["key_group"].values):
        here = result.sel(key_group=name)
        check(here, "weight_norm_spearman", *naive.correlation(None, None, category))
        for layer, head in product(range(2), range(4)):
            of_head = float(here["weight_norm_spearman_by_head"].sel(layer=layer, head=head))
            near(of_head, *naive.correlation(layer, head, category))


def check(result: xarray.Dataset, name: str, rho: float, count: int) -> None:
    """Weights of random models are narrow, and so share bins; of few pairs that matters more."""
    assert int(result[f"{name}_count"]) == count
    near(float(result[name]), rho, count)


def near(found: float, rho: float, count: int) -> None:
    assert np.isnan(found) == np.isnan(rho)
    if not np.isnan(rho):
        assert abs(found - rho) <= 0.03 + 1 / count


def test_correlations_with_frequency(case):
    result, naive = case
    for number, quantity in enumerate(("weight", "norm")):
        here = result.sel(quantity=quantity)
        count = len(naive.occurrences)
        check(here, "frequency_spearman", naive.frequency(number, None, None), count)
        for layer, head in product(range(2), range(4)):
            of_head = float(here["frequency_spearman_by_head"].sel(layer=layer, head=head))
            near(of_head, naive.frequency(number, layer, head), count)


CLOSE = {"rtol": 1e-4, "atol": 2e-3}
RANKED = 0.02
"""Rounding of the model may change which of two nearly equal weights is larger."""


def assert_equal(one: xarray.Dataset, other: xarray.Dataset) -> None:
    """Compare all numbers; correlations of ranks within what ties may change.

    The first token of a causal model has one vector in all texts, and by which bits it differs from
    batch to batch is up to the processor.
    """
    assert set(one.data_vars) == set(other.data_vars)
    for name in one.data_vars:
        if "spearman" in str(name) and not str(name).endswith("count"):
            apart = abs(one[name].fillna(0) - other[name].fillna(0))  # constants have none
            assert bool((apart <= RANKED).all()), name
        else:
            np.testing.assert_allclose(one[name], other[name], err_msg=str(name), **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_neither_batches_nor_the_order_of_texts_change_the_result(family):
    found, corpus = model(family), texts(7, longest=14)
    settings = settings_for("ranks", sample=50)
    alone = study(found, corpus, settings.replace(batch_tokens=1))
    together = study(found, corpus, settings.replace(batch_tokens=100_000))
    assert_equal(together, alone)
    backwards = study(found, corpus[::-1], settings)
    renamed = ["pairs_sample", "frequency_sample"]  # texts are named by their place
    assert_equal(backwards.drop_vars(renamed), alone.drop_vars(renamed))


def test_parts_merge_to_the_whole_in_any_order():
    found = model("bert")
    plan = plan_text_study("survey", "", texts(6), found, settings_for("ranks"))
    examples = list(plan.examples)
    counts = count_types(examples, len(VOCABULARY))
    occurrences = Occurrences(FrequencyRanks.of_counts(counts), counts)
    parts = [observed(found, [example], occurrences) for example in examples]
    forwards = reduce(Tally.merge, parts)
    backwards = reduce(Tally.merge, parts[::-1])
    nested = reduce(Tally.merge, [parts[0].merge(parts[1]), reduce(Tally.merge, parts[2:])])
    for other in (backwards, nested):
        for name, member in forwards.items():
            arrays = other[name].arrays()
            for field, array in member.arrays().items():
                if name in EXACT:
                    np.testing.assert_array_equal(arrays[field], array, err_msg=f"{name} {field}")
                else:
                    np.testing.assert_allclose(arrays[field], array, rtol=1e-9, atol=1e-9)


EXACT = {
    "ranks", "pairs", "occurrences", "group_tokens",
    *(f"frequency{place}_{what}" for place in ("", "_by_head") for what in ("seen", "ranks")),
}  # fmt: skip


def observed(
    found: CapturedModel, examples, occurrences: Occurrences, side: str = "right"
) -> Tally:
    """What is seen in one batch of the examples, padded on a side."""
    kind = found.kinds[0]
    batch = collate(examples, pad_id=0, side=side)
    made = RankObserver(
        Texts.of(batch, examples, kind),
        Known(None, occurrences),
        found.sites_of(kind),
        Sample(40, 2, len(CATEGORIES)),
        Sample(40, 4),
    )
    sides = Positions.for_kind(batch, kind)
    whole = HeadsObserver(*sides, kind, measures=MEASURES, parts=[made])
    with found.capture(found.sites_of(kind)) as recorder:
        recorder.visit = whole.visit
        found.run(batch, side=side)
    return whole.tally()


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_padding_on_either_side_changes_nothing(family):
    found = model(family)
    examples = list(plan_text_study("survey", "", texts(5), found, settings_for("ranks")).examples)
    counts = count_types(examples, len(VOCABULARY))
    occurrences = Occurrences(FrequencyRanks.of_counts(counts), counts)
    settings, known = settings_for("ranks", sample=40), {"ranks": Known(None, occurrences)}
    plan, one = plan_text_study("survey", "", texts(5), found, settings), Pass(MEASURES)
    left, right = (
        dataset(Outcome(plan, one, settings, observed(found, examples, occurrences, side), known))
        for side in ("left", "right")
    )
    assert_equal(only("ranks", left), only("ranks", right))


def test_a_sample_is_of_pairs_that_are_there_and_all_of_them_if_they_are_few(case):
    result, naive = case
    for category, name in enumerate(result["key_group"].values):
        sample = result["pairs_sample"].sel(key_group=name).dropna("sample").values
        pairs = [
            pair
            for (_, _, at_category), found in naive.pairs.items()
            if at_category == category
            for pair in found
        ]
        assert len(sample) == min(len(pairs), result.sizes["sample"])
        there = np.array(pairs).reshape(-1, 2)
        for pair in sample[:50]:
            assert np.isclose(there, pair, rtol=1e-4, atol=1e-6).all(axis=1).any()
        if len(sample) == len(pairs):
            np.testing.assert_allclose(np.sort(sample, axis=0), np.sort(there, axis=0), rtol=1e-4)
        elif len(sample) > 1000:  # unlikely to be off by 6 standard errors
            error = there.std(axis=0) / np.sqrt(len(sample))
            assert (np.abs(sample.mean(axis=0) - there.mean(axis=0)) < 6 * error).all()


def test_occurrences_are_all_there_if_they_are_few(case):
    result, naive = case
    rows = result["frequency_sample"].dropna("occurrence").values
    expected = [
        (rank, np.nanmean(received), np.nanmean(norm)) for rank, received, norm in naive.occurrences
    ]
    assert len(rows) == len(expected)
    np.testing.assert_allclose(
        np.sort(rows[:, :3], axis=0), np.sort(np.array(expected), axis=0), rtol=1e-4
    )
    assert set(rows[:, 3]) <= set(range(len(VOCABULARY)))


@pytest.mark.slow
def test_heads_that_a_layer_does_not_have_are_missing_and_change_nothing():
    found, corpus = uneven(), texts(6)
    result = study(found, corpus)
    missing = result.sel(layer=1, head=[2, 3])
    for name in ("total", "vector_norm_mean", "weight_norm_spearman_by_head"):
        assert np.isnan(missing[name]).all()
        assert np.isfinite(result[name].sel(layer=0, head=0)).any()
    assert np.isnan(missing["frequency_spearman_by_head"]).all()
    plan = plan_text_study("survey", "", corpus, found, settings_for("ranks"))
    examples = list(plan.examples)
    ranks = ranks_of_corpus(examples, found.tokenizer)
    naive = Study(found.transformer, "bert", "encoder", examples, ranks.rank, heads=(4, 2))
    for category, name in enumerate(CATEGORIES):
        here = result.sel(key_group=name)
        check(here, "weight_norm_spearman", *naive.correlation(None, None, category))
    for number, quantity in enumerate(("weight", "norm")):
        rho, count = naive.frequency(number, None, None), len(naive.occurrences)
        check(result.sel(quantity=quantity), "frequency_spearman", rho, count)


def test_vectors_of_length_zero_give_no_nan_but_where_there_is_nothing_to_rank():
    found = model("bert")
    output = found.transformer.encoder.layer[0].attention.output.dense
    with torch.no_grad():
        output.weight[:, :8] = 0  # the first head writes nothing
    result = study(found)
    silent = result.sel(layer=0, head=0)
    totals = silent["total"].sel(query_category="all")
    for zeros in (
        silent["vector_norm_mean"],
        silent["vector_norm_std"],
        totals.sel(measure="norm"),
    ):
        assert (zeros.fillna(0) == 0).all()
    assert np.isnan(silent["weight_norm_spearman_by_head"]).all()  # a constant has no ranks
    assert np.isfinite(totals.sel(measure="weight")).all()
    assert np.isfinite(result["weight_norm_spearman"].sel(key_group=["cls", "sep", "other"])).all()
    assert np.isfinite(result["frequency_spearman"]).all()
    assert not no_op(result).query("layer == 0 and head == 0")["no_op"].any()


def test_types_without_a_rank_are_left_out_and_counted():
    found, corpus = model("bert"), texts(8)
    ranks = FrequencyRanks.of_ids(found.tokenizer)
    result = study(found, corpus, settings_for("ranks", frequency_ranks="ids"))
    examples = list(plan_text_study("survey", "", corpus, found, settings_for("ranks")).examples)
    ids = [token for example in examples for token in example.ids]
    left_out = sum(np.isnan(ranks.rank[token]) for token in ids)
    assert result.attrs["frequency_left_out"] == left_out > 0
    assert (result["frequency_spearman_count"] == len(ids) - left_out).all()
    naive = Study(found.transformer, "bert", "encoder", examples, ranks.rank)
    for number, quantity in enumerate(("weight", "norm")):
        rho = naive.frequency(number, None, None)
        here = result.sel(quantity=quantity)
        check(here, "frequency_spearman", rho, len(ids) - left_out)
    rows = result["frequency_sample"].dropna("occurrence", how="all")
    assert len(rows) == len(ids) - left_out
    assert np.isfinite(rows).all()
    assert result.attrs["frequency_exclusions"] == "paper"


@pytest.mark.slow
def test_sinks_are_named_in_the_result_and_taken_out_of_their_category():
    found, corpus = model("llama"), texts(12)
    result = study(found, corpus, SINKS)
    sinks = json.loads(result.attrs["sinks"])
    assert sinks["tokens"]
    assert list(result["key_group"].values) == [*CATEGORIES, "sink"]
    plain = study(found, corpus, settings_for("ranks", sinks="off"))
    assert "sinks" not in plain.attrs
    assert result["token_count"].sum() == plain["token_count"].sum()
    assert result["token_count"].sel(key_group="sink") > 0


@pytest.mark.slow
def test_a_finished_run_is_read_and_another_is_refused(tmp_path):
    found, corpus = model("bert"), texts(6)
    first = study(found, corpus, folder=RunFolder(path=tmp_path))
    kept = load(tmp_path / "result.nc", stage="survey")
    xarray.testing.assert_identical(only("ranks", kept), first)
    again = study(found, corpus, folder=RunFolder(path=tmp_path, resume=True))
    xarray.testing.assert_identical(again, first)
    (tmp_path / "result.nc").unlink()
    assert_equal(study(found, corpus, folder=RunFolder(path=tmp_path, resume=True)), first)
    for changed in (
        settings_for("ranks", sample=3),
        settings_for("ranks", frequency_ranks="ids"),
    ):
        with pytest.raises(RunError):
            study(found, corpus, changed, folder=RunFolder(path=tmp_path, resume=True))


@pytest.mark.slow
def test_no_more_examples_than_allowed_are_looked_at_or_counted():
    found, corpus = model("bert"), texts(9)
    few = study(found, corpus, settings_for("ranks", max_examples=4))
    assert_equal(few, study(found, corpus[:4]))
    assert few.attrs["examples"] == 4


def test_a_corpus_that_can_be_read_only_once_is_refused():
    with pytest.raises(UsageError, match="is read more than once"):
        study(model("bert"), iter(texts(3)))


@pytest.mark.slow
def test_one_thread_and_two_give_the_same():
    found = model("bert")
    threads = torch.get_num_threads()
    try:
        results = []
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append(study(found))
    finally:
        torch.set_num_threads(threads)
    assert_equal(*results)
