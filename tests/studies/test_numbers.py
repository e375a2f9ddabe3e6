"""The numbers of a survey, against their definitions and by hand."""

import math

import numpy as np
import pytest
import torch
import xarray

from headlight.corpora import Corpus, Document
from headlight.encode import adjacent_segments, texts as encode_texts
from headlight.errors import UnknownNameError, UsageError
from headlight.findings import highlights
from headlight.observations.variables import long_names
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.deciles import VARIABLES as DECILES
from headlight.studies.survey.head_behaviours.variables import OF_BEHAVIOURS
from headlight.studies.survey.massive_activations import VARIABLES as OF_RESIDUAL
from headlight.studies.survey.study import run as survey
from headlight.studies.survey.token_types import VARIABLES as OF_TOKENS
from headlight.views.result_page import result_page
from studies import naive
from studies.models import attending_to_itself, documents, subject, texts, transformer, uneven

NAMES_OF_AXES = {
    "measure": ["weight", "norm", "effective"],
    "query_category": ["all", "cls", "sep", "punctuation", "other", "not_sep"],
    "key_category": ["cls", "sep", "punctuation", "other"],
    "offset": [-1, 0, 1],
}


def examples_of(found, corpus, settings=None):
    """The examples that such a survey reads."""
    settings = settings or SurveySettings()
    if not settings.pairs:
        given = [Document(f"text {number}", (text,)) for number, text in enumerate(corpus)]
        return list(encode_texts(given, found.tokenizer, max_length=64))
    decodes = settings.kind in ("decoder", "cross")
    start = found.transformer.config.decoder_start_token_id if decodes else None
    length = settings.max_length
    return list(adjacent_segments(corpus, found.tokenizer, length=length, decoder_start=start))


def without_passages(result: xarray.Dataset) -> xarray.Dataset:
    """What is counted; `test_passages` holds passages against their definition.

    So do `test_behaviours` with what heads are known to do, `test_token_types`, `test_residual`,
    and `test_intervals` with what blocks of the corpus say.
    """
    counted = result.drop_dims(["does", "token"], errors="ignore")
    return counted.drop_vars(DECILES, errors="ignore").drop_vars("decile", errors="ignore")


def assert_same(result: xarray.Dataset, expected: dict[str, np.ndarray]) -> None:
    elsewhere = ["class_share", *long_names(OF_BEHAVIOURS), *OF_TOKENS, *long_names(OF_RESIDUAL)]
    result = without_passages(result).drop_vars(elsewhere, errors="ignore")
    for name, labels in NAMES_OF_AXES.items():
        assert list(result[name].values) == labels
    np.testing.assert_array_equal(result["length"], expected.pop("length"))
    assert set(result.data_vars) == set(expected)
    for name, values in expected.items():
        assert result[name].shape == values.shape, name
        np.testing.assert_allclose(
            result[name].values, values, rtol=1e-5, atol=1e-5, equal_nan=True, err_msg=name
        )


def assert_alike(found: xarray.DataArray, expected: xarray.DataArray, **near: float) -> None:
    """Numbers that are nearly the same; tokens that are."""
    if found.dtype.kind in "OU":
        np.testing.assert_array_equal(found.values, expected.values, err_msg=str(found.name))
    else:
        np.testing.assert_allclose(found, expected, err_msg=str(found.name), **near)


@pytest.mark.slow
@pytest.mark.parametrize("value_bias", ["include", "exclude"])
def test_every_number_of_an_encoder(value_bias):
    found, corpus = subject("bert"), texts(7)
    settings = SurveySettings(value_bias=value_bias)
    result = survey(corpus, found, settings, progress=False)
    examples = examples_of(found, corpus, settings)
    expected = naive.survey(found.transformer, "bert", "encoder", examples, value_bias=value_bias)
    assert max(len(e.ids) for e in examples) > 12  # else there is no null space
    assert result["rank"].max() <= 8
    assert_same(result, expected)


@pytest.mark.slow
def test_every_number_of_a_decoder_with_grouped_heads():
    found, corpus = subject("llama"), texts(4, longest=14, seed=1)
    result = survey(corpus, found, progress=False)
    examples = examples_of(found, corpus)
    assert result.attrs["kind"] == "decoder"
    assert_same(result, naive.survey(found.transformer, "llama", "decoder", examples))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("bart", "encoder"),
        ("bart", "decoder"),
        ("bart", "cross"),
        ("t5", "decoder"),
        ("t5", "cross"),
    ],
)
def test_every_number_of_an_encoder_decoder(family, kind):
    found, corpus = subject(family), documents(3)
    settings = SurveySettings(pairs=True, kind=kind, max_length=32)
    result = survey(_corpus(corpus), found, settings, progress=False)
    examples = examples_of(found, corpus, settings)
    assert all(example.target for example in examples) == (kind != "encoder")
    if kind == "cross":
        assert result["neighbour"].isnull().all()
    assert_same(result, naive.survey(found.transformer, family, kind, examples))


@pytest.mark.slow
def test_an_encoder_decoder_without_pairs_shows_its_encoder_alone():
    found, corpus = subject("bart"), texts(4)
    result = survey(corpus, found, progress=False)
    assert result.attrs["kind"] == "encoder"
    examples = examples_of(found, corpus)
    assert_same(result, naive.survey(found.transformer, "bart", "encoder", examples))
    for kind in ("decoder", "cross"):
        with pytest.raises(UsageError, match=f"{kind} attention of bart needs two texts"):
            survey(corpus, found, SurveySettings(kind=kind), progress=False)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_two_texts_of_the_same_length_do_not_confuse_the_kinds(kind):
    found = subject("bart")
    corpus = [Document("one", ("the sea is near", "the old mill is"))] * 2
    settings = SurveySettings(pairs=True, kind=kind, max_length=32)
    examples = examples_of(found, corpus, settings)
    assert [(len(example.ids), len(example.target)) for example in examples] == [(6, 6)] * 2
    result = survey(_corpus(corpus), found, settings, progress=False)
    assert_same(result, naive.survey(found.transformer, "bart", kind, examples))


@pytest.mark.slow
def test_layers_with_different_numbers_of_heads_are_filled_up_with_nan():
    found, corpus = uneven(), texts(4, seed=2)
    result = survey(corpus, found, progress=False)
    examples = examples_of(found, corpus)
    expected = naive.survey(found.transformer, "bert", "encoder", examples, heads=(4, 2))
    assert_same(result, expected)
    assert result["vector_norm_mean"].isnull().values.tolist() == [
        [False] * 4,
        [False, False, True, True],
    ]


@pytest.mark.slow
def test_some_layers_have_the_numbers_that_they_have_among_all():
    found, corpus = subject("bert"), texts(5, seed=3)
    everything = survey(corpus, found, progress=False)
    one = survey(corpus, found, SurveySettings(layers=(1,)), progress=False)
    assert list(one["layer"].values) == [1]
    among = everything.sel(layer=[1])
    for name in one.data_vars:
        if "layer" in one[name].dims:
            # Of effective attention a share may be nearly 0.
            near = 1e-6 if name in long_names(OF_BEHAVIOURS) or "share" in str(name) else 0
            assert_alike(one[name], among[name], rtol=1e-4, atol=near)
    examples = examples_of(found, corpus)
    naively = naive.survey(found.transformer, "bert", "encoder", examples, layers=(1,), heads=(4,))
    assert_same(one, naively)


@pytest.mark.slow
def test_pairs_of_segments():
    found, corpus = subject("bert"), documents(5, paragraphs=4)
    settings = SurveySettings(pairs=True, max_length=24)
    result = survey(_corpus(corpus), found, settings, progress=False)
    examples = examples_of(found, corpus, settings)
    assert any(1 in example.segments for example in examples)
    assert_same(result, naive.survey(found.transformer, "bert", "encoder", examples))


def test_uniform_attention_by_hand():
    """Without queries every key gets 1/n: everything can be said beforehand."""
    silent = transformer("bert")
    for layer in silent.encoder.layer:
        for part in (layer.attention.self.query.weight, layer.attention.self.query.bias):
            torch.nn.init.zeros_(part)
    found = subject("bert")
    found.transformer = silent
    # <s> the sea . </s> and <s> mud </s>
    result = survey(["the sea .", "mud"], found, progress=False)
    weight = result.sel(measure="weight")
    assert weight["total"].shape == (2, 4, 6, 4)
    by_hand = [(1 / 5 + 1 / 3) / 2, (1 / 5 + 1 / 3) / 2, 1 / 10, (2 / 5 + 1 / 3) / 2]
    for category in ("all", "cls", "sep", "other"):
        shares = weight["share"].sel(query_category=category).values
        np.testing.assert_allclose(shares, np.broadcast_to(by_hand, (2, 4, 4)), rtol=1e-6)
    full_stop = weight["share"].sel(query_category="punctuation").values  # only in the first text
    np.testing.assert_allclose(
        full_stop, np.broadcast_to([0.2, 0.2, 0.2, 0.4], (2, 4, 4)), rtol=1e-6
    )
    sides, itself = (4 / 25 + 2 / 9) / 2, (1 / 5 + 1 / 3) / 2
    np.testing.assert_allclose(
        weight["neighbour"], np.broadcast_to([sides, itself, sides], (2, 4, 3)), rtol=1e-6
    )
    uniform = (math.log(5) + math.log(3)) / 2
    np.testing.assert_allclose(weight["entropy"].sel(query_category="all"), uniform, rtol=1e-6)
    assert float(result["entropy_uniform"]) == pytest.approx(uniform, rel=1e-12)
    np.testing.assert_array_equal(result["rank"], np.full((2, 4), 4.0))  # five rows, and three
    np.testing.assert_allclose(result["token_share"], [2 / 8, 2 / 8, 1 / 8, 3 / 8])
    assert (
        result["effective_correlation"].isnull().all()
    )  # what is constant correlates with nothing
    assert result["effective_correlation_by_head"].isnull().all()
    assert result["effective_correlation_count"].values.tolist() == [0]
    assert result.attrs["examples"] == 2
    assert result.attrs["tokens"] == 8


def _corpus(given):
    return Corpus("documents in memory", lambda _: iter(given))


@pytest.mark.slow
def test_some_measures_have_the_numbers_that_they_have_among_all():
    found, corpus = attending_to_itself(), texts(5, seed=3)
    everything = survey(corpus, found, progress=False)
    for measures in (("weight",), ("norm", "weight"), ("effective",)):
        settings = SurveySettings(measures=measures, passages=False)
        some = survey(corpus, found, settings, progress=False)
        assert list(some["measure"].values) == list(measures)
        among = everything.sel(measure=list(measures))
        for name in some.data_vars:
            # Without weights, attention is written; with them, it is made with its sums.
            assert_alike(some[name], among[name], rtol=5e-6, atol=1e-6)
        assert ("merged_total" in some) == ("vector_norm_mean" in some) == ("norm" in measures)
        assert ("rank" in some) == ("effective_correlation" in some) == ("effective" in measures)
        assert highlights(some)
        assert "</html>" in result_page(some)


def test_measures_that_are_unknown_or_named_twice_are_refused():
    with pytest.raises(UnknownNameError, match="no measure is called 'weigt'"):
        SurveySettings(measures=("weigt",))
    for measures in ((), ("norm", "norm")):
        with pytest.raises(UsageError, match="name at least one, and each of them once"):
            SurveySettings(measures=measures)


def test_separators_and_all_others_make_up_the_whole():
    """Clark et al. (2019), Fig. 2, below: in every document the parts make up the whole."""
    found, corpus = subject("bert"), texts(1, longest=9, seed=2)
    result = survey(corpus, found, progress=False)
    tokens = result.attrs["tokens"]
    whole, sep, rest = (
        result["total"].sel(query_category=name) for name in ("all", "sep", "not_sep")
    )
    np.testing.assert_allclose(whole, (sep + (tokens - 1) * rest) / tokens, rtol=1e-5)
