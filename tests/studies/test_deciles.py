"""Texts at the deciles of how strongly heads attend, against loops over readings of each text."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.encode import encode_one
from headlight.encode.batch import collate
from headlight.engine.plan import StudyPlan
from headlight.reading import read
from headlight.studies.survey import SurveySettings, deciles
from headlight.studies.survey.deciles import DECILES, DrawnTexts, deciles_of
from headlight.studies.survey.query_and_key_tokens import token_places
from headlight.studies.survey.study import run as survey
from studies.models import documents, model, texts
from studies.row_sums import asked_of, seen_block
from studies.test_behaviours import BATCHES, HEADS, MEASURES, random_scores


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
    for name in ("weight", "norm", "effective"):
        for layer, head in np.ndindex(2, 4):
            links = [links_of(each, name, layer, head) for each in by_drawn]
            strength = sorted(max(each.values()) for each in links)
            here = result.sel(measure=name, layer=layer, head=head)
            for decile in DECILES:
                one = here.sel(decile=decile)
                wanted = strength[int(np.floor(decile / 100 * (len(corpus) - 1) + 0.5))]
                assert float(one["decile_score"]) == pytest.approx(wanted, rel=2e-3, abs=1e-5)
                at, query = int(one["decile_text"]), int(one["decile_query"])
                row = by_drawn[at][name].sel(layer=layer, head=head).values[query]
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


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_no_text_is_read_twice(family, monkeypatch):
    subject, corpus, read_ids = model(family), texts(9, longest=12, seed=2), []
    run = type(subject).run

    def run_and_count(self, batch):
        read_ids.extend(batch.input_ids[batch.attention_mask > 0].tolist())
        return run(self, batch)

    survey(corpus, subject, SurveySettings(), progress=False)  # which traces the model
    monkeypatch.setattr(type(subject), "run", run_and_count)
    result = survey(corpus, subject, SurveySettings(), progress=False)
    assert result.sizes["drawn"] == len(corpus)
    wanted = [number for text in corpus for number in encode_one(subject.tokenizer, text).ids]
    assert sorted(read_ids) == sorted(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_long_texts_change_no_place(side, monkeypatch):
    """Links are between the first tokens of a text, wherever padding stands."""
    monkeypatch.setattr(deciles, "LONGEST", 6)
    subject, corpus = model("llama"), texts(5, longest=14, seed=6)
    monkeypatch.setattr(subject.tokenizer, "padding_side", side)
    result = survey(corpus, subject, SurveySettings(measures=("weight",)), progress=False)
    readings = [read(subject, text).dataset for text in corpus]
    beginnings = {tuple(encode_one(subject.tokenizer, text).ids[:6]): at
                  for at, text in enumerate(corpus)}  # fmt: skip
    drawn = [tuple(row[np.isfinite(row)].astype(int)) for row in result["drawn_key"].values]
    assert sorted(drawn) == sorted(beginnings)
    for layer, head in np.ndindex(2, 4):
        best = result.sel(measure="weight", layer=layer, head=head, decile=100)
        values = readings[beginnings[drawn[int(best["decile_text"])]]]["weight"]
        row = values.sel(layer=layer, head=head).values[int(best["decile_query"]), :6]
        place = best["decile_place"].values
        place = place[np.isfinite(place)].astype(int)
        assert place.tolist() == list(range(len(row)))
        np.testing.assert_allclose(best["decile_value"][: len(row)], row, rtol=1e-5, atol=1e-6)
        assert float(best["decile_score"]) == pytest.approx(row[1:].max(), rel=2e-3)


@pytest.mark.slow
def test_blocks_of_queries_change_nothing():
    corpus, subject = texts(6, longest=14, seed=4), model("llama")
    whole, blocks = (
        survey(corpus, subject, SurveySettings(query_block=size), progress=False) for size in (0, 3)
    )
    for name in ("decile_score", "decile_query", "decile_place", "decile_value"):
        np.testing.assert_allclose(blocks[name], whole[name], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_texts_of_a_shard_that_come_after_enough_others_are_left_out(monkeypatch):
    """However the corpus is cut into shards, the texts with the lowest hashes are drawn."""
    monkeypatch.setattr(deciles, "SAMPLED", 4)
    subject, corpus = model("bert"), texts(20, longest=12, seed=5)
    examples = [encode_one(subject.tokenizer, text) for text in corpus]
    lowest = sorted(examples, key=lambda each: deciles.hash_of(each, "encoder"))[:4]
    looked_at = []
    strongest = deciles._strongest
    monkeypatch.setattr(
        deciles, "_strongest", lambda strengths: (
            looked_at.append(strengths.shape[1]) or strongest(strengths)
        )
    )  # fmt: skip
    for size, most in ((256, 4), (5, 16)):
        monkeypatch.setattr("headlight.engine.batch_runner.SHARD", size)
        looked_at.clear()
        result = survey(corpus, subject, SurveySettings(measures=("weight",)), progress=False)
        drawn = [row[np.isfinite(row)].astype(int) for row in result["drawn_key"].values]
        assert [tuple(each) for each in drawn] == [each.ids for each in lowest]
        assert sum(looked_at) == 2 * most  # in two layers


@pytest.mark.slow
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
    for name in ("decile_text", "decile_query", "decile_place", "drawn_key"):
        np.testing.assert_array_equal(results[0][name], results[1][name])
    for name in ("decile_score", "decile_value"):
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-6, atol=1e-6)


def links_by_definition(cells, queries, keys, of_queries, of_keys):
    """Return the strongest link of each head as its definition says, by sorting whole rows.

    The score and the place of the query are first; then places and values of keys.
    """
    scores = cells.masked_fill(~keys[:, None, None], -torch.inf).amax(-1)
    scores = scores.masked_fill(scores.isnan() | ~queries[:, None], -torch.inf)
    wide, top = scores.double(), scores.double().amax(-1, keepdim=True)
    step = top.abs() / deciles.ALIKE + torch.finfo(torch.float64).tiny
    alike = (wide / step).round() >= (top / step).round()
    query = torch.where(alike, torch.arange(alike.shape[2]), alike.shape[2]).amin(2)
    query = query.where(query < alike.shape[2], 0)
    numbers = np.full((*query.shape, deciles.WIDTH), np.nan, np.float32)
    for text, head in np.ndindex(*query.shape):
        at = int(query[text, head])
        row = cells[text, head, at].masked_fill(of_keys[text] < 0, -torch.inf)
        order = row.sort(descending=True, stable=True).indices[: deciles.LINKS].sort().values
        for number, key in enumerate(order.tolist()):
            if of_keys[text, key] >= 0:
                numbers[text, head, 2 + number] = of_keys[text, key]
                numbers[text, head, 2 + deciles.LINKS + number] = row[key]
        numbers[text, head, :2] = scores[text, head, at], of_queries[text, at]
        if not np.isfinite(numbers[text, head, 0]):  # no row of the text is known
            numbers[text, head] = np.nan
    return numbers


def without_padding(numbers):
    """Return the numbers of links with keys that are padding, among others, behind all others."""
    about, links = numbers[:, :2], numbers[:, 2:].reshape(-1, 2, deciles.LINKS)
    order = np.isnan(links).argsort(2, kind="stable")
    return np.concatenate([about, np.take_along_axis(links, order, 2).reshape(len(about), -1)], 1)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    **BATCHES,
    compiled=st.booleans(),
    steps=st.sampled_from([4, 3000, 10**6]),
    drawn=st.integers(1, 3),
)
def test_links_are_those_of_whole_rows_to_the_bit(
    encoded, seed, side, kind, block, compiled, steps, drawn
):
    """Wherever padding and ends of blocks are, and where links are alike or not known."""
    batch = collate(encoded, 0, side)
    lengths, width = batch.lengths.tolist(), batch.input_ids.shape[1]
    generator = torch.Generator().manual_seed(seed)
    scores = random_scores(lengths, side, kind == "decoder", generator)
    scores = {name: (each * steps).round().float() / steps for name, each in scores.items()}
    scores["norm"][torch.rand(scores["norm"].shape[:3], generator=generator) < 0.2] = torch.nan
    plan = Mock(StudyPlan, kind=kind, sites=[SimpleNamespace(heads=HEADS)])
    hashes = sorted(deciles.hash_of(each, kind) for each in encoded)
    highest = hashes[:drawn][-1]
    seeker = DrawnTexts(batch, encoded, plan, MEASURES, highest, batch)
    asked = asked_of(batch, links=seeker.links)
    for first in range(0, width, block):
        stop = min(first + block, width)
        keys = stop if kind == "decoder" else width
        parts = {name: each[:, :, first:stop, :keys].contiguous() for name, each in scores.items()}
        about = {
            "block": None if block >= width else True,
            "ends": stop == width,
            "site": SimpleNamespace(layer=0),
        }
        seeker.note_block(seen_block(asked, parts, first, compiled=compiled, **about))
    rows = seeker.members()["drawn"].compute()["rows"]
    rows = rows[np.isfinite(rows[:, : deciles.LONGEST]).any(1)]
    chosen = [at for at, each in enumerate(encoded) if deciles.hash_of(each, kind) <= highest]
    chosen.sort(key=lambda at: deciles.hash_of(encoded[at], kind))
    places = token_places(batch.category[chosen])
    ordinary = deciles._ordinary(batch.category[chosen], places)
    keys = ordinary
    if kind == "decoder":
        later = ordinary & (places > 0)
        keys = torch.where(later.any(1, keepdim=True), later, keys)
    for number, name in enumerate(MEASURES):
        found = rows[:, 2 * deciles.LONGEST :].reshape(len(chosen), HEADS, 3, deciles.WIDTH)
        of_measure = scores[name][chosen]
        wanted = links_by_definition(of_measure, ordinary, keys, places, places)
        for one, other in zip(found[:, :, number].reshape(wanted.shape), wanted, strict=True):
            np.testing.assert_array_equal(*map(without_padding, (one, other)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.lists(
            st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, -np.inf, np.nan])
            | st.floats(0, 1, width=32),
            min_size=13,
            max_size=13,
        ),
        min_size=1,
        max_size=5,
    ),
    size=st.integers(1, 13),
)
def test_the_largest_of_a_row_are_those_of_a_stable_sort(rows, size):
    rows = np.array(rows, np.float32)[:, :size]
    order = torch.from_numpy(rows).sort(dim=1, descending=True, stable=True).indices
    keys, values = deciles._largest(rows)
    wanted = order[:, : deciles.LINKS].sort(1).values.numpy()
    np.testing.assert_array_equal(keys, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(rows, wanted, 1))
