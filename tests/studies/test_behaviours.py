"""What heads do, against plain loops."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import headlight.views.accessor  # noqa: F401 - results have intervals of their own
from headlight.catalogue import statistics
from headlight.catalogue.statistics import (
    FUNCTION_WORDS,
    Statistic,
    Text,
    behaviours as names_of_behaviours,
)
from headlight.encode import Encoded
from headlight.encode.batch import collate
from headlight.encode.token_categories import word_ids
from headlight.reduce import Tally
from headlight.result.estimate import estimate_of
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.head_behaviours import counted_keys, induction_and_sinks
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter, numbers
from headlight.studies.survey.part_observer import SeenLayer
from headlight.studies.survey.study import run as survey
from headlight.vocabulary import DISTANCES, NEIGHBOURS, RELATIVE, measure
from studies import behaviours_naive as naive
from studies.intervals import agrees
from studies.models import documents, subject, texts
from studies.naive import layers_of
from studies.row_sums import asked_of, seen_block
from studies.test_numbers import _corpus, examples_of

MEASURES = ("weight", "norm", "effective")
FUNCTION = (3, 4)
HEADS = 2
PLAIN = [name for name in names_of_behaviours() if name not in naive.SEGMENTS]
"""Of texts without named segments."""
NAIVE_NAMES = [
    *names_of_behaviours(),
    *(f"at {o}" for o in RELATIVE),
    *(f"from {e}" for e in DISTANCES),
]


@st.composite
def examples(draw: st.DrawFn) -> list[Encoded]:
    """Texts of few tokens, so that they come again, with words of several pieces."""
    made = []
    for number in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 14))
        ids = tuple(draw(st.lists(st.integers(1, 5), min_size=size, max_size=size)))
        steps = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        kinds = draw(st.lists(st.sampled_from([3, 3, 3, 3, 0, 1, 2]), min_size=size, max_size=size))
        words = np.cumsum(steps).tolist()
        words = [-1 if kind < 2 else word for kind, word in zip(kinds, words, strict=True)]
        example = Encoded(str(number), ids, (0,) * size, tuple(kinds), tuple(words))
        if size > 1 and draw(st.booleans()):  # of one token nothing is left without the first
            names = draw(st.lists(st.sampled_from(naive.SEGMENTS), min_size=size, max_size=size))
            example = replace(example, segment_names=tuple(names))
        made.append(example)
    return made


BATCHES: dict[str, st.SearchStrategy[Any]] = {
    "encoded": examples(),
    "seed": st.integers(0, 1000),
    "side": st.sampled_from(["left", "right"]),
    "kind": st.sampled_from(["encoder", "decoder"]),
    "block": st.integers(1, 15),
}
"""Texts, random numbers, padding, attention and queries to a block, of a part of a survey."""


def random_scores(
    lengths: list[int], side: str, causal: bool, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Each measure; padded queries give something too, and some rows of the norm give nothing."""
    width = max(lengths)
    weight = torch.rand(len(lengths), HEADS, width, width, generator=generator).double()
    places = torch.arange(width)
    for text, length in enumerate(lengths):
        there = places < length if side == "right" else places >= width - length
        weight[text] *= there
    if causal:
        weight = weight.tril()
    norm = weight * torch.rand(len(lengths), HEADS, 1, width, generator=generator).double()
    norm[:, :, 0] = 0
    whole = weight.sum(3, keepdim=True)
    weight = weight / whole.where(whole > 0, 1) * 0.9
    return {"weight": weight, "norm": norm, "effective": weight - 0.1 * (weight > 0.1)}


def counted(
    batch_of, scores, kind: str, block: int, one_pass: bool = False, tokenizer=None
) -> dict:
    """What is made of a batch whose queries come in blocks."""
    batch, encoded = batch_of
    words = {"function_words": FUNCTION}
    counter = BehaviourCounter(batch, encoded, kind, MEASURES, words, tokenizer)
    width = batch.input_ids.shape[1]
    asked = asked_of(batch, counter)
    for first in range(0, width, block):
        stop = min(first + block, width)
        keys = stop if kind == "decoder" else width
        parts = {name: score[:, :, first:stop, :keys] for name, score in scores.items()}
        counter.note_block(seen_block(asked, parts, first, compiled=one_pass))
    counter.note_layer(seen_layer(torch.ones(len(encoded), HEADS, width)))
    return {name: each.compute() for name, each in counter.members().items()}


def seen_layer(norm: torch.Tensor, inputs: torch.Tensor | None = None) -> SeenLayer:
    """A layer that was seen, with the lengths of its vectors and their inputs."""
    record = SimpleNamespace(
        site=SimpleNamespace(layer=0), input=inputs, block=None, dtype=torch.float32
    )
    return SeenLayer(record, SimpleNamespace(vectors=SimpleNamespace(norm=norm)), {})


def assert_as_defined(found: dict, expected: dict[str, np.ndarray], at: tuple, tolerance: float):
    """Everything that is known of a measure of a layer, by head."""

    def same(values, name):
        np.testing.assert_allclose(
            values[at], expected[name], rtol=tolerance, atol=tolerance, err_msg=name
        )

    for number, name in enumerate(NAIVE_NAMES):
        same(found["behaviour"]["ratio"][..., number], f"{name} share")
        same(found["behaviour_rest"]["ratio"][..., number], f"{name} rest")
    same(found["sink"]["mean"], "sink")
    same(found["distance"]["ratio"][..., 0], "distance with")
    same(found["distance"]["ratio"][..., 2], "distance without")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    **BATCHES,
    far=st.integers(1, 6),
    one_pass=st.booleans(),
)
def test_every_number_is_that_of_the_definition(encoded, seed, side, kind, block, far, one_pass):
    assert len(NAIVE_NAMES) == len(numbers())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(induction_and_sinks, "FAR", far)
        patch.setattr(naive, "FAR", far)
        batch = collate(encoded, 0, side)
        lengths = [len(each.ids) for each in encoded]
        generator = torch.Generator().manual_seed(seed)
        scores = random_scores(lengths, side, kind == "decoder", generator)
        if one_pass:  # of numbers of float32
            scores = {name: score.float().double() for name, score in scores.items()}
        found = counted((batch, encoded), scores, kind, block, one_pass)
        for number, (name, score) in enumerate(scores.items()):
            alone = []
            for text, example in enumerate(encoded):
                size = len(example.ids)
                own = slice(size) if side == "right" else slice(-size, None)
                sums = naive.of_text(
                    score[text, :, own, own].numpy(), example.ids, example.words,
                    example.categories, FUNCTION, share=measure(name).share,
                    segments=example.segment_names,
                )  # fmt: skip
                alone.append(sums)
            assert_as_defined(
                found, naive.joined(alone), (0, slice(None), number), 1e-6 if one_pass else 1e-9
            )


def every_third(text: Text) -> np.ndarray:
    """Return keys of which some come after their query; the first query has none."""
    places = np.arange(len(text.tokens))
    return (places[:, None] > 0) & ((places[:, None] + 2 * places) % 3 == 0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    **BATCHES,
    one_pass=st.booleans(),
)
def test_keys_of_another_package_get_what_is_defined(encoded, seed, side, kind, block, one_pass):
    table = *statistics.statistic_table(), Statistic(
        name="third", short="third", variable="behaviour_share", keys=every_third
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for module in (statistics, counted_keys):
            patch.setattr(module, "statistic_table", lambda: table)
        tokenizer = SimpleNamespace(convert_ids_to_tokens=lambda ids: [str(each) for each in ids])
        patch.setattr(
            counted_keys, "token_names", lambda _, ids: tokenizer.convert_ids_to_tokens(ids)
        )
        lengths = [len(each.ids) for each in encoded]
        generator = torch.Generator().manual_seed(seed)
        scores = random_scores(lengths, side, kind == "decoder", generator)
        scores = {name: score.float().double() for name, score in scores.items()}
        batch = collate(encoded, 0, side)
        found = counted((batch, encoded), scores, kind, block, one_pass, tokenizer)
        number = statistics.behaviours().index("third")
    for place, (name, score) in enumerate(scores.items()):
        received, given, rest, others = [], [], 0.0, 0.0
        for text, size in enumerate(lengths):
            own = slice(size) if side == "right" else slice(-size, None)
            rows = score[text, :, own, own].numpy()
            chosen = every_third(Text(["a"] * size, (), ()))
            whole = np.ones(rows.shape[:2]) if measure(name).share else rows.sum(-1)
            has_keys = chosen.any(1)
            if has_keys.any():
                received.append((rows * chosen).sum((1, 2)) / has_keys.sum())
                given.append(whole[:, has_keys].mean(1))
            rest += (rows * chosen)[..., 1:].sum((1, 2))
            others += (has_keys * (whole - rows[..., 0])).sum(1)
        close = {"rtol": 1e-6, "atol": 1e-6}
        here = found["behaviour"]["ratio"][0, :, place, number]
        with np.errstate(invalid="ignore"):
            expected = np.sum(received, 0) / np.sum(given, 0) if received else np.nan
        np.testing.assert_allclose(here, expected, **close)
        here = found["behaviour_rest"]["ratio"][0, :, place, number]
        expected = np.where(others > 1e-9, rest / np.maximum(others, 1e-9), here)
        np.testing.assert_allclose(here, expected, **close)


def test_the_length_of_a_text_is_no_matter_of_memory():
    """A token that is everywhere has pairs for some queries at a time; groups hold none."""
    size = 5000
    ids = (7,) * size
    example = Encoded("long", ids, (0,) * size, (3,) * size, tuple(range(size)))
    batch = collate([example], 0)
    counter = BehaviourCounter(batch, [example], "decoder", ("weight",))
    score = torch.zeros(1, 1, 4, size)
    score[..., 0] = 1
    asked = asked_of(batch, counter)
    counter.note_block(seen_block(asked, {"weight": score}, size - 4, compiled=False))
    assert counter._stacked is not None
    found = counter._unstack(counter._stacked)["weight"]
    assert found.given[0, 0, BEHAVIOURS_AT["duplicate"]] == 4
    assert found.given[0, 0, BEHAVIOURS_AT["copy_far"]] == 3  # the last has no next token
    assert counter._described is not None
    assert len(counter._described[1].duplicate.key) == sum(range(size - 4, size))


BEHAVIOURS_AT = {name: number for number, name in enumerate(names_of_behaviours())}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("llama", "decoder")])
def test_a_survey_has_these_numbers(family, kind):
    found, corpus = subject(family), texts(4, longest=14, seed=1)
    result = survey(corpus, found, progress=False)
    encoded = examples_of(found, corpus)
    known = word_ids(found.tokenizer, FUNCTION_WORDS)
    assert known
    seen = [layers_of(found.transformer, family, kind, each, (0, 1)) for each in encoded]
    for layer in (0, 1):
        scores = [text[layer].scores("include") for text in seen]
        for name in MEASURES:
            alone = [
                naive.of_text(
                    score[name], each.ids, each.words, each.categories, known,
                    share=measure(name).share,
                )
                for score, each in zip(scores, encoded, strict=True)
            ]  # fmt: skip
            expected = naive.joined(alone)
            here = result.sel(layer=layer, measure=name)
            _assert_result(here, expected)
            if name == "weight":
                _assert_intervals(here, alone)
        drain = [
            [norms[0] / np.median(norms) for norms in _vector_norms(text[layer])] for text in seen
        ]
        np.testing.assert_allclose(
            result["value_drain"].sel(layer=layer), np.mean(drain, 0), rtol=1e-4
        )
        inputs = [np.abs(text[layer].input) for text in seen]
        largest = max(inputs, key=np.max)
        place = np.unravel_index(largest.argmax(), largest.shape)
        assert result["activation_place"].values[layer] == place[0]
        assert result["activation_dimension"].values[layer] == place[1]
        ratios = [each.max() / np.median(each[each.max(1).argmax()]) for each in inputs]
        np.testing.assert_allclose(
            result["activation_ratio"].values[layer], np.mean(ratios), rtol=1e-4
        )
    shares = result["behaviour_share"].sel(behaviour="first")
    np.testing.assert_allclose(
        result["no_op"], shares.sel(measure="weight") - shares.sel(measure="norm"), atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("llama", "decoder")])
def test_what_goes_to_one_key_is_one_number_with_one_interval(family, kind):
    """Texts are of different lengths, and their rows give different sums by norm."""
    found, corpus = subject(family), texts(9, longest=30, seed=4)
    settings = SurveySettings(passages=False, token_types=0)
    result = survey(corpus, found, settings, progress=False)

    def ends(name: str, **where: Any) -> list[np.ndarray]:
        number = estimate_of(result.sel(where), name, ("measure", "layer", "head"))
        assert number is not None
        return [number.value, number.low, number.high]

    first = ends("behaviour_share", behaviour="first")
    if kind == "encoder":  # each text begins with its only [CLS]
        same = ends("share", key_category="cls", query_category="all")
    else:
        same = ends("class_share", key_class="first", query_category="all")
    for one, other in zip(first, same, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    close = {"rtol": 1e-4, "atol": 1e-6}
    for offset in NEIGHBOURS.values():
        neighbour = result["neighbour"].sel(offset=offset)
        here = result["relative_share"].sel(relative=offset).transpose(*neighbour.dims)
        np.testing.assert_allclose(here, neighbour, **close)
    itself = result["neighbour"].sel(offset=0)
    here = result["distance_share"].sel(distance=0).transpose(*itself.dims)
    np.testing.assert_allclose(here, itself, **close)
    shares = result["behaviour_share"].sel(behaviour="first")
    np.testing.assert_allclose(result["first_share"], shares.mean(("layer", "head")), **close)
    moved = result["behaviour_share_by_slot"].sel(behaviour="first")
    for of_both, name in ((shares, "no_op"), (moved, "no_op_by_slot")):
        less = of_both.sel(measure="weight") - of_both.sel(measure="norm")
        np.testing.assert_allclose(less.transpose(*result[name].dims), result[name], **close)


def _vector_norms(layer) -> np.ndarray:
    heads = layer.output.shape[0]
    value = np.repeat(layer.value, heads // layer.value.shape[0], axis=0)
    return np.linalg.norm(value @ layer.output, axis=-1)


def _assert_result(here, expected):
    """The variables of one measure of one layer."""
    close = {"rtol": 1e-4, "atol": 1e-5}
    for dim, labels in (
        ("behaviour", {name: name for name in PLAIN}),
        ("relative", {offset: f"at {offset}" for offset in RELATIVE}),
        ("distance", {edge: f"from {edge}" for edge in DISTANCES}),
    ):
        for label, name in labels.items():
            for end in ("share", "rest"):
                values, wanted = here[f"{dim}_{end}"].sel({dim: label}), expected[f"{name} {end}"]
                np.testing.assert_allclose(values, wanted, err_msg=f"{name} {end}", **close)
    for name, wanted in {
        "distance_mean": "distance with",
        "distance_std": "deviation with",
        "distance_mean_rest": "distance without",
        "distance_std_rest": "deviation without",
        "sink_rate": "sink",
    }.items():
        np.testing.assert_allclose(here[name], expected[wanted], err_msg=name, **close)


def _assert_intervals(here, alone):
    """Those of ratios of sums over texts, of the weights of one layer."""
    for name in PLAIN:
        agrees(here.sel(behaviour=name), "behaviour_rest", *naive.without_first(alone, name))
    for end, part in (("", "with"), ("_rest", "without")):
        zero, one = (naive.powers(alone, part, power) for power in range(2))
        agrees(here, f"distance_mean{end}", one, zero)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_rounding_leaves_of_a_softmax_is_no_share_that_is_missing(dtype):
    """Rows of weights add up to 1 but for rounding, which is no number of its own."""
    found = subject("bert")
    found.transformer.to(dtype)
    result = survey(texts(12), found, SurveySettings(measures=("weight",)), progress=False)
    lacks = result["behaviour_share"].sel(behaviour="missing", measure="weight")
    assert (lacks == 0).all()
    ends = result.headlight.interval("behaviour_share").sel(behaviour="missing", measure="weight")
    assert ((ends["low"] <= lacks) & (lacks <= ends["high"])).all()


def test_between_two_texts_only_the_first_tokens_are_known():
    found, corpus = subject("bart"), documents(3)
    result = survey(
        _corpus(corpus), found, SurveySettings(pairs=True, kind="cross", max_length=32),
        progress=False,
    )  # fmt: skip
    known = result["behaviour_share"].notnull().all(("layer", "head")).sel(measure="weight")
    assert known["behaviour"][known].values.tolist() == [
        "first", "second", "third", "fourth", "missing"
    ]  # fmt: skip
    for name in ("relative_share", "distance_share", "distance_mean"):
        assert result[name].isnull().all()
    first = result["total"].sel(measure="weight", query_category="all", key_category="cls")
    shares = result["behaviour_share"].sel(measure="weight", behaviour="first")
    np.testing.assert_allclose(shares, first, rtol=1e-5)


@pytest.mark.slow
def test_blocks_of_queries_change_nothing():
    found, corpus = subject("llama"), texts(4, longest=30, seed=3)
    whole, parts = (
        survey(corpus, found, SurveySettings(query_block=block), progress=False) for block in (0, 7)
    )
    for name in whole.data_vars:
        if str(name).startswith(("behaviour", "relative", "distance", "sink", "no_op")):
            np.testing.assert_allclose(
                whole[name], parts[name], rtol=1e-5, atol=1e-6, err_msg=str(name)
            )


def test_words_of_a_vocabulary_that_are_function_words():
    tokenizer = subject("bert").tokenizer
    known = set(tokenizer.convert_ids_to_tokens(list(word_ids(tokenizer, FUNCTION_WORDS))))
    assert known == {"the", "a", "is", "was", "has", "down", "near"}


def test_what_was_counted_can_be_kept(tmp_path):
    encoded = [Encoded("one", (1, 2, 1), (0,) * 3, (3,) * 3, (0, 1, 2))]
    batch = collate(encoded, 0)
    counter = BehaviourCounter(batch, encoded, "decoder", ("weight",))
    score = torch.rand(1, 2, 3, 3).tril()
    asked = asked_of(batch, counter)
    counter.note_block(seen_block(asked, {"weight": score}, 0, compiled=True))
    counter.note_layer(seen_layer(torch.rand(1, 2, 3), torch.rand(1, 3, 5)))
    tally = Tally(counter.members())
    tally.save(tmp_path / "tally")
    again, _ = Tally.load(tmp_path / "tally")
    for name, member in tally.items():
        for part, values in member.compute().items():
            np.testing.assert_array_equal(values, again[name].compute()[part])
