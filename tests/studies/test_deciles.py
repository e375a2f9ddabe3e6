"""Texts at the deciles of how strongly heads attend, against loops over readings of each text."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.encode import Encoded, encode_one
from headlight.reading import read
from headlight.reduce import Strongest
from headlight.studies.survey import SurveySettings, deciles
from headlight.studies.survey.deciles import DECILES, SAMPLED, deciles_of, drawn_texts
from headlight.studies.survey.study import run as survey
from studies.models import documents, model, texts


def links_of(reading, measure: str, layer: int, head: int) -> dict[tuple[int, int], float]:
    """All links between ordinary tokens; in a decoder none goes to the first token."""
    values = reading[measure].sel(layer=layer, head=head).values.astype(float)
    queries, keys = (reading[f"{side}_category"].values for side in ("query", "key"))
    decoder = reading.attrs["kind"] == "decoder"

    def ordinary(categories):
        found = [at for at, name in enumerate(categories) if name not in ("cls", "sep")]
        return found or list(range(len(categories)))

    to = ordinary(keys)
    if decoder and any(at > 0 for at in to):
        to = [at for at in to if at > 0]
    return {(q, k): values[q, k] for q in ordinary(queries) for k in to}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", None), ("llama", None), ("bart", "cross")])
def test_the_texts_are_those_that_loops_over_readings_find(family, kind):
    found = model(family)
    if kind == "cross":
        pairs = [each.paragraphs[:2] for each in documents(7)]
        corpus = [" \n\n ".join(pair) for pair in pairs]
    else:
        corpus = texts(7, longest=14, seed=3)
        pairs = [(text, None) for text in corpus]
    chosen = SurveySettings(pairs=kind == "cross", kind=kind)
    result = survey(corpus, found, chosen, progress=False)
    readings = [read(found, *pair, kind=kind).dataset for pair in pairs]
    names = dict(zip(result["token"].values.tolist(), result["token_text"].values, strict=True))
    assert result.sizes["drawn"] == len(corpus)
    drawn = [
        [names[int(number)] for number in row if np.isfinite(number)]
        for row in result["drawn_key"].values
    ]
    by_drawn = [
        next(each for each in readings if each["key_token"].values.tolist() == tokens)
        for tokens in drawn
    ]
    for measure in ("weight", "norm", "effective"):
        for layer, head in np.ndindex(2, 4):
            links = [links_of(each, measure, layer, head) for each in by_drawn]
            strength = sorted(max(each.values()) for each in links)
            here = result.sel(measure=measure, layer=layer, head=head)
            for decile in DECILES:
                one = here.sel(decile=decile)
                wanted = strength[int(np.floor(decile / 100 * (len(corpus) - 1) + 0.5))]
                assert float(one["decile_score"]) == pytest.approx(wanted, rel=2e-3, abs=1e-5)
                at, query = int(one["decile_text"]), int(one["decile_query"])
                row = by_drawn[at][measure].sel(layer=layer, head=head).values[query]
                best = max(value for (q, _), value in links[at].items() if q == query)
                assert best == pytest.approx(wanted, rel=4e-3, abs=1e-5)
                places = one["decile_place"].values
                places = places[np.isfinite(places)].astype(int)
                assert len(places) == min(len(row), deciles.LINKS)
                np.testing.assert_allclose(
                    one["decile_value"].values[: len(places)], row[places], rtol=1e-4, atol=1e-5
                )
                assert min(row[places]) >= np.sort(row)[-len(places)] - 1e-5


def test_a_decile_is_the_text_at_the_nearest_place():
    score = np.array([5.0, 1.0, 3.0, 2.0])
    # In order: texts 1, 3, 2, 0 at the places 0 to 3; 50% is place 1.5, which becomes 2.
    assert deciles_of(score).tolist() == [1, 1, 3, 3, 3, 2, 2, 2, 2, 0, 0]


@pytest.fixture(scope="module")
def examples() -> list[Encoded]:
    tokenizer = model("bert").tokenizer
    return [encode_one(tokenizer, text) for text in texts(70)]


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(1, 69), max_size=5, unique=True))
def test_the_texts_that_are_drawn_do_not_depend_on_batches_or_their_order(cuts, examples):
    whole = drawn_texts(examples, "encoder").compute()["rows"]
    edges = [0, *sorted(cuts), len(examples)]
    parts = [drawn_texts(examples[begin:end], "encoder") for begin, end in pairwise(edges)]
    merged = parts[-1]
    for part in parts[:-1]:
        merged = merged.merge(part)
    assert isinstance(merged, Strongest)
    np.testing.assert_array_equal(merged.compute()["rows"], whole)
    assert len({deciles.hash_of(each, "encoder") for each in examples}) > SAMPLED
    back = [deciles._example(row) for row in whole]
    lowest = sorted(examples, key=lambda each: deciles.hash_of(each, "encoder"))[:SAMPLED]
    assert [replace(each, name="") for each in back] == [replace(each, name="") for each in lowest]


def test_nothing_is_kept_of_texts_where_passages_are_not_wanted():
    corpus = texts(3, longest=10, seed=1)
    for chosen in (SurveySettings(passages=False), SurveySettings(measures=("norm",))):
        result = survey(corpus, model("bert"), chosen, progress=False)
        assert "decile_score" not in result
        assert "drawn_key" not in result


@pytest.mark.slow
def test_batches_change_nothing():
    corpus = texts(50, longest=12, seed=5)
    results = [
        survey(corpus, model("bert"), SurveySettings(batch_tokens=size), progress=False)
        for size in (60, 400)
    ]
    for name in ("decile_text", "decile_query", "decile_place", "drawn_key", "decile_value"):
        np.testing.assert_array_equal(results[0][name], results[1][name])
