"""Texts at the deciles of how strongly heads attend, against loops over readings of each text."""

import numpy as np
import pytest

from headlight.reading import read
from headlight.studies.heads import SurveySettings, deciles
from headlight.studies.heads.deciles import DECILES, deciles_of
from headlight.studies.heads.study import run as survey
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


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_no_text_is_read_twice(family, monkeypatch):
    found, corpus, seen = model(family), texts(9, longest=12, seed=2), []
    survey(corpus[:1], found, SurveySettings(), progress=False)  # the model is verified
    run = type(found).run

    def count(self, batch, *args, **options):
        seen.append(len(batch.input_ids))
        return run(self, batch, *args, **options)

    monkeypatch.setattr(type(found), "run", count)
    monkeypatch.setattr(type(found), "verify_on", lambda *_: None)
    result = survey(corpus, found, SurveySettings(), progress=False)
    assert "decile_score" in result
    assert sum(seen) == len(corpus)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_blocks_of_queries_give_links_that_are_alike(family):
    corpus, found = texts(6, longest=14, seed=4), model(family)
    whole, blocks = (
        survey(corpus, found, SurveySettings(query_block=size), progress=False) for size in (0, 3)
    )
    alike = 2 / deciles.ALIKE  # of links that are alike, the first of a block is kept
    np.testing.assert_allclose(blocks["decile_score"], whole["decile_score"], rtol=alike, atol=1e-6)


def test_nothing_is_kept_of_texts_where_passages_are_not_wanted():
    corpus = texts(3, longest=10, seed=1)
    for chosen in (SurveySettings(passages=False), SurveySettings(measures=("norm",))):
        result = survey(corpus, model("bert"), chosen, progress=False)
        assert "decile_score" not in result
        assert "drawn_key" not in result


def test_batches_change_nothing():
    corpus = texts(50, longest=12, seed=5)
    results = [
        survey(corpus, model("bert"), SurveySettings(batch_tokens=size), progress=False)
        for size in (60, 400)
    ]
    for name in ("decile_text", "decile_query", "decile_place", "drawn_key"):
        np.testing.assert_array_equal(results[0][name], results[1][name])
    for name in ("decile_score", "decile_value"):  # padding changes last bits
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-5, atol=1e-6)
