"""Passages of a survey against loops over readings of each text."""

from types import SimpleNamespace
from unittest.mock import Mock

import hypothesis
import numpy as np
import pytest
import torch
import xarray
from hypothesis import given, strategies as st

from headlight.capture import LayerRecord
from headlight.encode.batch import collate
from headlight.findings import passage_of
from headlight.measures import Scores
from headlight.observations.text_ids import rank_of
from headlight.reading import read
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter
from headlight.studies.survey.part_observer import SeenBlock, SeenLayer
from headlight.studies.survey.passages import (
    ALIKE,
    HIGHEST,
    KEPT,
    STATISTICS,
    TO_CATEGORY,
    PassageSeeker,
    _kept,
    _means,
    _rows_beside_words,
)
from headlight.studies.survey.row_sums import RowSums
from headlight.studies.survey.study import run as survey
from headlight.vocabulary import CATEGORIES
from studies import behaviours_naive as naive
from studies.models import documents, model, texts
from studies.test_behaviours import examples


def means(reading: xarray.Dataset, does: str, layer: int, head: int) -> tuple[float, np.ndarray]:
    """What a head does on average in a text, and in each row, by loops."""
    weight = reading["weight"].sel(layer=layer, head=head).values.astype(float)
    n = len(weight)
    if does in ("broad", "narrow"):
        rows = np.array([-sum(w * np.log(w) for w in row if w > 0) for row in weight])
        rows = rows if does == "broad" else -rows
        return float(rows.mean() / np.log(n)), rows
    offsets = {"previous": -1, "current": 0, "next": 1}
    if does in offsets:
        there = [i + offsets[does] for i in range(n)]
        rows = np.array([weight[i, j] if 0 <= j < n else np.nan for i, j in enumerate(there)])
        return float(np.nansum(rows) / n), rows
    if does in ("first", "duplicate", "induction", "subword"):
        return of_behaviour(reading, does, weight)
    category = reading["key_category"].values
    rows = np.array(
        [sum(w for w, c in zip(row, category, strict=True) if c == does) for row in weight]
    )
    return float(rows.mean()), rows


def of_behaviour(
    reading: xarray.Dataset, does: str, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """The mean over the queries that are asked, and each of their rows; the first is no row."""
    names = reading["key_token"].values.tolist()
    classes = [CATEGORIES.index(name) for name in reading["key_category"].values]
    ids = [names.index(name) for name in names]
    asked = naive.keys_of(ids, reading["key_word"].values.tolist(), classes, ())[does]
    rows = np.array(
        [
            np.nan if keys is None else sum(row[j] for j in keys)
            for row, keys in zip(weight, asked, strict=True)
        ]
    )
    mean = float(np.nanmean(rows)) if np.isfinite(rows).any() else np.nan
    if does == "first":
        rows[0] = np.nan
    return mean, rows


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.slow
def test_passages_are_those_that_loops_find(family):
    found, corpus = model(family), texts(6, longest=40, seed=2)
    result = survey(corpus, found, progress=False)
    readings = [read(found, text).dataset for text in corpus]
    for does in STATISTICS:
        for layer, head in np.ndindex(2, 4):
            passage = passage_of(result, does, layer, head)
            seen = [means(reading, does, layer, head)[0] for reading in readings]
            if passage is None:
                assert does == "subword" or np.isnan(seen).all()  # words of these are whole
                continue
            most = np.nanmax(seen)
            assert passage.mean == pytest.approx(most, abs=2e-3)
            same = [r for r, s in zip(readings, seen, strict=True) if s > most - 2e-3]
            assert any(_is_of(passage, reading, does, layer, head) for reading in same)


def _is_of(passage, reading, does, layer, head) -> bool:
    """Whether the passage is a row of a reading, and one in which the head does most."""
    tokens = reading["query_token"].values.tolist()
    if passage.length != len(tokens) or tokens[passage.place] != passage.query.text:
        return False
    weight = reading["weight"].sel(layer=layer, head=head).values[passage.place]
    kept = passage.tokens
    if not all(tokens[each.place] == each.piece for each in kept):
        return False
    if not np.allclose(
        [weight[each.place] for each in kept], [each.weight for each in kept], atol=1e-5
    ):
        return False
    assert [each.place for each in kept] == sorted({each.place for each in kept})
    assert len(kept) == min(len(tokens), 24)
    assert max(each.weight for each in kept) == pytest.approx(weight.max(), abs=1e-5)
    rows = means(reading, does, layer, head)[1]
    others = reading["query_category"].values == "other"
    if offset := {"previous": -1, "next": 1}.get(does, 0):
        places = np.arange(len(others)) + offset
        inside = (places >= 0) & (places < len(others))
        beside = inside & others[places.clip(0, len(others) - 1)]
        if (others & beside).any():
            others = others & beside
            assert others[passage.place]
    return bool(rows[passage.place] >= np.nanmax(rows[others]) - 2e-3)


@pytest.mark.parametrize("size", [KEPT - 1, KEPT, KEPT + 1, 3 * KEPT, 500])
@pytest.mark.parametrize("attended", [2, HIGHEST, 400])
def test_the_highest_keys_are_kept_and_the_nearest(size, attended):
    rng = np.random.default_rng(size + attended)
    weight, middle = rng.random((20, size)), rng.integers(0, size - 3, 20)
    is_key = np.broadcast_to(np.arange(size) < size - 3, weight.shape)
    order = rng.permuted(np.broadcast_to(np.arange(size), weight.shape), axis=1)
    weight = np.where(is_key, np.where(order < attended, weight, 0.0), -1.0)
    kept = _kept(weight, middle, is_key)
    for row in range(len(weight)):
        keys = [key for key in range(size) if is_key[row, key]]
        highest = sorted(keys, key=lambda key: -weight[row, key])[:HIGHEST]
        chosen = [key for key in highest if weight[row, key] > 0]
        beside = [key for key in keys if key not in chosen]
        beside.sort(key=lambda key: (abs(key - middle[row]), key < middle[row]))
        expected = sorted([*chosen, *beside][:KEPT])
        assert [key for key in kept[row].tolist() if is_key[row, key]] == expected


def test_none_are_kept_if_they_are_not_wanted_or_there_are_no_weights():
    found, corpus = model("bert"), texts(3, longest=10, seed=1)
    for settings in (SurveySettings(passages=False), SurveySettings(measures=("norm",))):
        result = survey(corpus, found, settings, progress=False)
        assert "passage_score" not in result
        assert passage_of(result, "next", 0, 0) is None


def test_cross_attention_shows_the_source_and_names_the_target():
    found, corpus = model("bart"), [" \n\n ".join(d.paragraphs) for d in documents(3)]
    settings = SurveySettings(pairs=True, max_length=32, kind="cross")
    result = survey(corpus, found, settings, progress=False)
    passage = passage_of(result, "broad", 1, 2)
    assert passage is not None
    assert abs(sum(each.weight for each in passage.tokens) - 1) < 1e-4 or passage.length > 24
    assert passage_of(result, "next", 1, 2) is None


@pytest.mark.slow
@hypothesis.settings(max_examples=40, deadline=None)
@given(
    encoded=examples(),
    seed=st.integers(0, 1000),
    side=st.sampled_from(["left", "right"]),
    block=st.integers(1, 15),
    missing=st.floats(0, 1),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
)
def test_rows_are_the_first_of_those_that_are_alike(encoded, seed, side, block, missing, dtype):
    """In whole layers and in blocks, wherever padding stands, and where rows are not known."""
    batch = collate(encoded, 0, side)
    texts, width, heads = *batch.input_ids.shape, 2
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        numbers = (torch.rand(shape, generator=generator) * 20).round() / 20
        numbers += torch.rand(shape, generator=generator) / 1900  # some are alike, others not
        return numbers.masked_fill(torch.rand(shape, generator=generator) < missing, torch.nan)

    shown = random(4, texts, heads, width)
    rows = {"rows": random(texts, heads, width, 4), "neighbour": random(texts, heads, width, 3)}
    rows["entropy"] = random(texts, heads, width)
    weight = torch.rand(texts, heads, width, width, generator=generator).to(dtype)
    counter = Mock(BehaviourCounter)
    counter.means_of_weight.return_value = shown.nanmean(3)
    seeker = PassageSeeker(batch, encoded, "encoder", counter)
    means_of = {name: each.nanmean(2) for name, each in rows.items()}
    means_of["total"] = means_of.pop("rows")[:, :, None]
    means_of["entropy"] = means_of["entropy"][..., None]
    for first in range(0, width, block):
        here = slice(first, min(first + block, width))
        counter.rows_of_weight.return_value = list(shown[..., here])
        record = Mock(
            LayerRecord,
            first=first,
            block=True if block < width else None,
            site=SimpleNamespace(layer=0),
        )
        scores = Mock(Scores, record=record, of={"weight": weight[:, :, here]}.__getitem__)
        sums = Mock(RowSums, heads={"weight": slice(heads)}, columns=rows["rows"][:, :, here])
        sums.neighbours, sums.entropy = rows["neighbour"][:, :, here], rows["entropy"][:, :, here]
        seeker.note_block(SeenBlock(scores, sums))
    seeker.note_layer(SeenLayer(record, scores, {"weight": means_of}))
    found = seeker._found[0]
    by_row = [rows["rows"][..., CATEGORIES.index(name)] for name in TO_CATEGORY]
    by_row += [*rows["neighbour"].unbind(-1), rows["entropy"], -rows["entropy"], *shown]
    words = batch.category == CATEGORIES.index("other")
    askable = torch.where(words.any(1, keepdim=True), words, batch.category >= 0)
    for number, name in enumerate(STATISTICS):
        mask = _rows_beside_words(askable, words, name)
        for head in range(heads):
            text = int(found.example[number, head])
            score = by_row[number][text, head].double().where(mask[text], torch.nan)
            steps = (score.nan_to_num(-100) * ALIKE).round()
            query = int((steps == steps.max()).nonzero()[0])
            assert int(found.query[number, head]) == query
            np.testing.assert_array_equal(
                found.weight[number, head], weight[text, head, query].float()
            )
    score = _means(means_of, batch.lengths)
    score = torch.cat([score, shown.nanmean(3).double()])
    steps = (score.nan_to_num(-100) * ALIKE).round()
    ranks = np.array([rank_of(each, "encoder") for each in encoded])
    for number, head in np.ndindex(len(STATISTICS), heads):
        most = np.flatnonzero(steps[number, :, head] == steps[number, :, head].max())
        assert int(found.example[number, head]) == most[ranks[most].argmin()]
