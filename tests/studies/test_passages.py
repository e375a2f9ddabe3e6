"""Passages of a survey against loops over readings of each text."""

import numpy as np
import pytest
import xarray

from headlight.findings import passage_of
from headlight.reading import read
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.passages import HIGHEST, KEPT, STATISTICS, _kept
from headlight.studies.survey.study import run as survey
from headlight.vocabulary import CATEGORIES
from studies import behaviours_naive as naive
from studies.models import documents, model, texts


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
