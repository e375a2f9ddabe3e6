"""A study by blocks of queries is the study of all queries at once."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, attention_masks, query_blocks
from headlight.capture.query_blocks import CELLS, GRAIN, block_size, can_be_blocked
from headlight.encode.batch import Batch
from headlight.observations.positions import Positions
from headlight.reduce import Tally
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.study import run as survey
from studies.chosen_numbers import settings_for, survey_with
from studies.models import model, texts
from studies.test_independence import assert_equal
from tiny_models import VOCABULARY

NAMES = ("BERT", "GPT-2", "Llama", "Mistral", "Gemma 2", "GPT-OSS", "T5", "ModernBERT")
NAMES += ("AFMoE", "LFM3")


@cache
def subject(name: str, wide: bool = False) -> CapturedModel:
    row = next(row for row in ARCHITECTURES if row.name == name)
    return CapturedModel(row.build().to(torch.float64 if wide else torch.float32), name=name)


def batch(generator: torch.Generator, lengths: list[int], decoder: bool) -> Batch:
    """Texts of these lengths; with a decoder, each also reads the text of the others, cut short."""
    width = max(lengths)
    ids = torch.randint(3, VOCABULARY, (len(lengths), width), generator=generator)
    there = torch.arange(width) < torch.tensor(lengths)[:, None]
    category = torch.randint(0, 4, ids.shape, generator=generator).where(there, -1)
    made = Batch(
        input_ids=ids,
        attention_mask=there.long(),
        token_type_ids=torch.zeros_like(ids),
        category=category,
        word=torch.arange(width).expand_as(ids),
        lengths=torch.tensor(lengths),
    )
    if not decoder:
        return made
    target = {
        "target_ids": ids.flip(0)[:, 1:],
        "target_mask": there.flip(0)[:, 1:].long(),
        "target_category": category.flip(0)[:, 1:],
        "target_word": made.word[:, 1:],
        "target_lengths": made.lengths.flip(0) - 1,
    }
    return replace(made, **target)


def observed(found: CapturedModel, given: Batch, kind: str, block: int | None) -> Tally:
    """What a survey sees in a batch, by blocks of so many queries."""
    sides = Positions.for_kind(given, kind)
    observer = HeadsObserver(*sides, kind)
    with found.capture(found.sites_of(kind)) as recorder:
        recorder.query_block, recorder.visit = block, observer.visit
        found.run(given)
    return observer.tally()


def assert_alike(one: Tally, other: Tally, tolerance: float) -> None:
    assert set(one) == set(other)
    for name, member in one.items():
        found = other[name].compute()
        for part, numbers in member.compute().items():
            where = f"{name} {part}"
            np.testing.assert_allclose(
                numbers, found[part], rtol=tolerance, atol=tolerance, err_msg=where
            )


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    lengths=st.lists(st.integers(2, 40), min_size=1, max_size=3),
    block=st.integers(1, 40),
    seed=st.integers(0, 1000),
    wide=st.booleans(),
)
def test_blocks_change_nothing(name, lengths, block, seed, wide):
    wide = wide and name not in ("GPT-OSS", "AFMoE")  # whose experts run in float32 alone
    found = subject(name, wide)
    assert all(site.blocks for site in found.sites)
    if wide and getattr(found.transformer.config, "sliding_window", None):
        # Padding that sees no key within its window is NaN in the model itself, in float64.
        lengths = [max(lengths)] * len(lengths)
    given_batch = batch(torch.Generator().manual_seed(seed), lengths, found.has_decoder_inputs)
    for kind in found.kinds:
        whole = observed(found, given_batch, kind, 0)
        parts = observed(found, given_batch, kind, block)
        assert_alike(parts, whole, 1e-5 if wide else 2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_survey_by_blocks_is_the_survey(family, monkeypatch):
    found, corpus = model(family), texts(4, longest=30, seed=3)
    whole, last = (
        survey(corpus, found, SurveySettings(query_block=0, layers=layers), progress=False)
        for layers in (None, (1,))
    )
    # Masks by rows, and blocks that are chosen; so many that sums are those of all queries at once.
    monkeypatch.setattr(attention_masks, "LARGE", 0)
    monkeypatch.setitem(CELLS, "cpu", 1)
    monkeypatch.setattr(query_blocks, "GRAIN", 4)
    chosen = survey(corpus, found, progress=False)
    assert_equal(chosen, whole, rtol=1e-5, atol=1e-6)
    # The layer that is left out keeps its fast attention.
    chosen = survey(corpus, found, SurveySettings(layers=(1,)), progress=False)
    assert_equal(chosen, last, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_null_spaces_by_blocks_are_those_of_all_queries(family, monkeypatch):
    found, corpus = model(family), texts(4, longest=30, seed=3)
    settings = settings_for("null_space", query_block=0)
    whole = survey_with("null_space", corpus, found, settings)
    monkeypatch.setitem(CELLS, "cpu", 1)
    monkeypatch.setattr(query_blocks, "GRAIN", 4)
    chosen = survey_with("null_space", corpus, found)
    assert_equal(chosen, whole, rtol=1e-5, atol=1e-6)


def test_attention_that_counts_its_queries_is_found_out():
    query = torch.randn(1, 2, 6, 4, generator=torch.Generator().manual_seed(0))

    def plain(_, query, key, value, mask):
        weight = (query @ key.mT + (0 if mask is None else mask)).softmax(-1)
        return (weight @ value).transpose(1, 2), weight

    def counting(_, query, key, value, mask):
        return plain(_, query, key, value, torch.arange(query.shape[2])[:, None] * key[0, 0, :, 0])

    mask = torch.full((1, 1, 6, 6), torch.finfo(query.dtype).min).triu(1)
    for function, expected in ((plain, True), (counting, False)):
        for given_mask in (mask, None):
            arguments = (query, query, query, given_mask)
            context, weight = function(None, *arguments)
            found = can_be_blocked(function, torch.nn.Identity(), arguments, {}, (context, weight))
            assert found == expected


def test_blocks_are_as_large_as_memory_is_meant_for(monkeypatch):
    query, key = torch.zeros(2, 4, 100, 8), torch.zeros(2, 2, 100, 8)
    assert block_size(0, 4, query, key) is None
    assert block_size(100, 4, query, key) is None
    assert block_size(7, 4, query, key) == 7
    assert block_size(None, 4, query, key) is None
    monkeypatch.setitem(CELLS, "cpu", 2 * 4 * 100 * 40)
    assert block_size(None, 4, query, key) == 2 * GRAIN
    monkeypatch.setitem(CELLS, "cpu", 1)
    assert block_size(None, 4, query, key) == GRAIN
