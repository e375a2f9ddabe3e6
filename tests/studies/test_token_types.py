"""Which tokens attend and are attended to, against plain loops."""

import math
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from headlight.encode.batch import collate
from headlight.findings import heads, highlights
from headlight.reduce import KeyedSums
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.part_observer import SeenLayer
from headlight.studies.survey.study import run as survey
from headlight.studies.survey.token_types import (
    MOST_NUMBERS,
    SHOWN,
    TokenCounter,
    of_token_types,
    types_within_memory,
)
from headlight.views.accessor import HeadlightAccessor
from headlight.vocabulary import CATEGORIES, measure
from studies.models import subject, texts
from studies.naive import layers_of
from studies.row_sums import asked_of, seen_block
from studies.test_behaviours import BATCHES, MEASURES, random_scores
from studies.test_numbers import examples_of

SPECIAL = [CATEGORIES.index("cls"), CATEGORIES.index("sep")]


def naive_sums(score, example, *, share: bool, cross: bool = False) -> dict:
    """What tokens get and give in one text, by token, and how often they are there."""
    heads, queries, keys = score.shape
    classes = example.categories
    names = _keys(example)
    first = -1 if cross else 0
    gets, gives = (defaultdict(lambda: np.zeros(heads)) for _ in range(2))
    for head in range(heads):
        for i in range(queries):
            whole = math.fsum(score[head, i])
            if not share and not whole > 0:
                continue
            for j in range(keys):
                part = score[head, i, j] / (1 if share else whole)
                if j != first:
                    gets[names[j]][head] += part
                if i != first and j != first and classes[j] not in SPECIAL:
                    gives[names[i]][head] += part
    count = Counter(name for place, name in enumerate(names) if place != first)
    return {"gets": gets, "gives": gives, "count": count}


def _keys(example) -> list[int]:
    """What tokens are counted by: special ones below all others."""
    both = zip(example.ids, example.categories, strict=True)
    return [-1 - number if category in SPECIAL else number for number, category in both]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(**BATCHES)
def test_sums_are_those_of_loops(encoded, seed, side, kind, block):
    batch = collate(encoded, 0, side)
    width = batch.input_ids.shape[1]
    lengths = [len(each.ids) for each in encoded]
    generator = torch.Generator().manual_seed(seed)
    scores = random_scores(lengths, side, kind == "decoder", generator)
    counter = TokenCounter(batch, kind, MEASURES, 100)
    asked = asked_of(batch)
    for first in range(0, width, block):
        stop = min(first + block, width)
        keys = stop if kind == "decoder" else width
        parts = {name: each[:, :, first:stop, :keys] for name, each in scores.items()}
        part_of_text = True if block < width else None
        counter.note_block(seen_block(asked, parts, first, compiled=False, block=part_of_text))
    counter.note_layer(SeenLayer(SimpleNamespace(site=SimpleNamespace(layer=0)), None, {}))
    found = {name: each.compute() for name, each in counter.members().items()}
    for number, (name, score) in enumerate(scores.items()):
        texts_alone = []
        for text, example in enumerate(encoded):
            size = len(example.ids)
            own = slice(size) if side == "right" else slice(-size, None)
            values = score[text, :, own, own].numpy()
            texts_alone.append(naive_sums(values, example, share=measure(name).share))
        for of, which in (("key", "gets"), ("query", "gives")):
            sums, counts = found[f"token_{of}_sums"], found[f"token_{of}_counts"]
            expected = sum((each["count"] for each in texts_alone), Counter())
            assert dict(zip(counts["key"].tolist(), counts["sum"], strict=True)) == expected
            for key, row in zip(sums["key"].tolist(), sums["sum"], strict=True):
                wanted = sum(each[which][key] for each in texts_alone)
                np.testing.assert_allclose(row[0, :, number], wanted, atol=1e-6)
            whole = sum(sum(each[which].values()) for each in texts_alone)
            np.testing.assert_allclose(sums["whole"][0, :, number], whole, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("llama", "decoder")])
def test_a_survey_names_the_tokens_that_get_and_give_most(family, kind):
    found, corpus = subject(family), texts(4, longest=14, seed=1)
    result = survey(corpus, found, progress=False)
    encoded = examples_of(found, corpus)
    seen = [layers_of(found.transformer, family, kind, each, (0, 1)) for each in encoded]
    assert result["token_coverage"].values.tolist() == [1, 1]
    for layer in (0, 1):
        scores = [text[layer].scores("include") for text in seen]
        for name in ("weight", "norm"):
            alone = [
                naive_sums(score[name], each, share=measure(name).share)
                for score, each in zip(scores, encoded, strict=True)
            ]
            count = sum((each["count"] for each in alone), Counter())
            for side, which in (("key", "gets"), ("query", "gives")):
                sums = {key: sum(each[which][key] for each in alone) for key in count}
                here = result.sel(layer=layer, measure=name, side=side)
                _assert_named(found.tokenizer, here, sums, count)


def _assert_named(tokenizer, here, sums, count):
    for head in here["head"].values:
        whole = sum(each[head] for each in sums.values())
        share = {key: each[head] / whole for key, each in sums.items()}
        lift = {key: share[key] / (count[key] / count.total()) for key in count}
        part = {key: share[key] * math.log(lift[key]) for key in count if share[key] > 0}
        np.testing.assert_allclose(here["token_divergence"][head], sum(part.values()), atol=1e-5)
        best = sorted((key for key in part if part[key] > 0), key=lambda key: -part[key])[:SHOWN]
        names = tokenizer.convert_ids_to_tokens([key if key >= 0 else -1 - key for key in best])
        missing = SHOWN - len(best)
        of_head = here.isel(head=head)
        assert of_head["top_token"].values.tolist() == [*names, *[""] * missing]
        for variable, known in (("share", share), ("lift", lift), ("count", count)):
            np.testing.assert_allclose(
                of_head[f"top_token_{variable}"],
                [*(known[key] for key in best), *[np.nan] * missing],
                rtol=1e-4,
            )


def test_the_shares_of_two_tokens_by_hand():
    """Of 4 tokens three are the first and get a half, so its part is ½ ln ⅔, the other's ½ ln 2."""
    sums = {"key": np.array([3, 7]), "sum": np.full((2, 1, 1, 1), 1.0)}
    counts = {"key": np.array([3, 7]), "sum": np.array([3.0, 1.0]), "whole": np.array(4.0)}
    side = sums | {"whole": np.full((1, 1, 1), 2.0)}
    found = {f"token_{of}_{name}": part for of in ("key", "query")
             for name, part in (("sums", side), ("counts", counts))}  # fmt: skip

    class Names:
        def convert_ids_to_tokens(self, ids):
            return [f"<{number}>" for number in ids]

    made = of_token_types(found, Names())
    assert made["top_token"][1][0, 0, 0, 0].tolist() == ["<7>", *[""] * 7]
    assert made["top_token_share"][1][0, 0, 0, 0, 0] == 0.5
    assert made["top_token_lift"][1][0, 0, 0, 0, 0] == 2.0
    divergence = 0.5 * math.log(2 / 3) + 0.5 * math.log(2)
    np.testing.assert_allclose(made["token_divergence"][1], divergence)


@pytest.mark.slow
def test_tokens_beyond_the_limit_are_left_out_of_the_names_and_not_of_the_whole():
    found, corpus = subject("bert"), texts(4, longest=14, seed=1)
    every = survey(corpus, found, progress=False)
    some = survey(corpus, found, SurveySettings(token_types=6), progress=False)
    assert every.attrs["token_types"] == 2000
    assert some.attrs["token_types"] == 6
    assert 0 < float(some["token_coverage"][0]) < 1
    names = set(some["top_token"].values.ravel()) - {""}
    # Special tokens are counted first, then those that come first in the vocabulary.
    there = {key for each in examples_of(found, corpus) for key in _keys(each)[1:]}
    lowest = [key if key >= 0 else -1 - key for key in sorted(there)[:6]]
    assert names <= set(found.tokenizer.convert_ids_to_tokens(lowest))
    both = some["top_token"].sel(side="key").values[..., 0].ravel()
    shares = some["top_token_share"].sel(side="key").values[..., 0].ravel()
    for token, share, at in zip(both, shares, np.ndindex(3, 2, 4), strict=True):
        row = every["top_token"].sel(side="key").values[at].tolist()
        if token in row and token:
            known = every["top_token_share"].sel(side="key").values[(*at, row.index(token))]
            assert share == known


def test_without_it_nothing_is_said_of_tokens():
    result = survey(texts(2), subject("bert"), SurveySettings(token_types=0), progress=False)
    assert not [name for name in result.variables if "token_" in str(name) and "top" in str(name)]
    assert "token_types" not in result.attrs


def test_memory_bounds_how_many_tokens_there_are():
    assert types_within_memory(2000, 144, 3) == 2000
    assert types_within_memory(10**6, 144, 3) == MOST_NUMBERS // (2 * 144 * 3)
    sums = KeyedSums((2,), limit=5)
    for first in range(100, 0, -10):
        sums.update(np.arange(first, first + 20), np.ones((20, 2)))
    assert sums.sums.shape == (5, 2)
    found = sums.compute()
    assert found["key"].tolist() == [10, 11, 12, 13, 14]
    assert found["sum"].tolist() == [[1, 1]] * 5
    assert found["whole"].tolist() == [200, 200]


@pytest.mark.slow
def test_heads_for_particular_tokens_are_ranked_named_and_have_a_table():
    result = survey(texts(4, longest=14, seed=1), subject("bert"), progress=False)
    divergence = result["token_divergence"].sel(side="key", measure="norm")
    best = divergence.argmax(...)
    place = int(best["layer"]), int(best["head"])
    ranked = heads(result, "particular_tokens", by="norm")
    assert tuple(ranked.loc[0, ["layer", "head"]]) == place
    assert ranked.loc[0, "norm"] == float(divergence.max())
    shown = HeadlightAccessor(result)
    assert "tokens_L{}H{}".format(*place) in shown.tables
    table = shown.table("tokens_L{}H{}".format(*place))
    here = result.sel(side="key", measure="norm", layer=place[0], head=place[1])
    assert table["attended to, norm"].tolist() == here["top_token"].values.tolist()[: len(table)]
    strong = result.copy()
    strong["token_divergence"] = result["token_divergence"] * 100
    (said,) = [each for each in highlights(strong) if each.kind == "particular tokens"]
    assert (said.layer, said.head) == place
    assert f"to “{here['top_token'].values[0]}” (" in said.text
