"""The study of attribution on given ones, against loops; and on a tiny model, as it is used."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.capture.attribution import Attribution, attribute
from headlight.corpora import Sentence
from headlight.encode import Encoded, Examples, encode_one, sentences
from headlight.encode.batch import collate
from headlight.encode.examples import Recipe
from headlight.engine import passes
from headlight.engine.folder import RunFolder
from headlight.errors import RunError, UnknownNameError, UsageError
from headlight.pool import Words
from headlight.settings.attribution import AttributionSettings
from headlight_papers.studies.attribution import AttributionStudySettings, expected_time
from headlight_papers.studies.attribution.box_statistics import MARKS, boxes
from headlight_papers.studies.attribution.contribution_sums import (
    by_distance,
    by_offset,
    centred,
    is_not_largest,
    own_contribution,
)
from headlight_papers.studies.attribution.expected_time import outlook
from headlight_papers.studies.attribution.study import AttributionStudy, run
from open_folders import opening
from studies import attribution_naive as naive
from studies.models import model, texts

REACH = 7
LAYERS = 2
SETTINGS = AttributionStudySettings(batch_tokens=100, reach=REACH, exact=0)
EXACT = AttributionSettings(method="exact")


def given(example: Encoded, noise: float = 0.0) -> np.ndarray:
    """Contributions that depend on the text alone, mostly local; with noise, those of a guess."""
    seed = zlib.crc32(repr(example.ids).encode())
    length = len(example.ids)
    place = np.arange(length)
    near = np.exp(-np.abs(place - place[:, None]) / 3)
    c = near * np.random.default_rng(seed).exponential(size=(LAYERS, length, length))
    c *= 1 + noise * np.random.default_rng(seed + 1).standard_normal(c.shape)
    return c / c.sum(-1, keepdims=True)


@pytest.fixture
def injected(monkeypatch):
    """The engine gives these contributions, right or left of the padding, whatever the model."""
    calls = []

    def attributed(found, batch, settings, *, kind):
        calls.append((settings.method, kind, tuple(batch.input_ids.shape)))
        exact = settings.method == "exact"
        width = batch.input_ids.shape[1]
        rows = np.zeros((LAYERS, len(batch.lengths), width, width), dtype=np.float32)
        for number, mask in enumerate(batch.attention_mask.bool()):
            ids = tuple(batch.input_ids[number][mask].tolist())
            there = np.flatnonzero(mask.numpy())
            example = Encoded("", ids, (), (), ())
            rows[:, number, there[:, None], there] = given(example, 0.0 if exact else 0.1)
        error = None if exact else torch.from_numpy(0.1 * rows)
        return Attribution(torch.from_numpy(rows), error)

    monkeypatch.setattr("headlight.engine.batch_runner.attribute", attributed)
    monkeypatch.setattr("headlight_papers.studies.attribution.study.attribute", attributed)
    return calls


def pairs_of(found, number: int = 7, longest: int = 14) -> list[Encoded]:
    """Pairs of very different lengths."""
    ours = texts(2 * number, longest)
    return [
        encode_one(found.tokenizer, ours[2 * place], ours[2 * place + 1]) for place in range(number)
    ]


def examples_of(encoded) -> Examples:
    return Examples(Recipe(encoded, lambda _: (), lambda group, _: group))


def study(encoded, found=None, settings=SETTINGS, method=EXACT, **more):
    settings = settings.replace(attribution=method)
    return opening(run)(
        examples_of(encoded), found or model("bert"), settings, progress=False, **more
    )


def same(first, second, **tolerance):
    for name in first.data_vars:
        np.testing.assert_allclose(first[name], second[name], err_msg=name, **tolerance)


def test_every_statistic_is_its_definition(injected):
    found = model("bert")
    encoded = pairs_of(found)
    result = study(encoded, found)
    seen = [(given(one), list(one.categories)) for one in encoded]
    rows = naive.own(seen)
    tolerance = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(result.own_mean.sel(group="all"), rows.mean(0), **tolerance)
    np.testing.assert_allclose(result.own_std.sel(group="all"), rows.std(0), **tolerance)
    assert int(result.own_count.sel(group="all")) == len(rows)
    kinds = np.concatenate([kinds for _, kinds in seen])
    for code, name in enumerate(("cls", "sep", "punctuation", "other")):
        chosen = rows[kinds == code]
        np.testing.assert_allclose(result.own_mean.sel(group=name), chosen.mean(0), **tolerance)
        assert int(result.own_count.sel(group=name)) == len(chosen)
    np.testing.assert_allclose(result.not_largest, naive.not_largest(seen), **tolerance)
    assert 0 < float(result.not_largest[0]) < 1
    distances = naive.by_distance(seen)
    np.testing.assert_allclose(result.by_distance, distances, **tolerance)
    np.testing.assert_allclose(result.by_distance_share, distances / distances.sum(0), **tolerance)
    total, count = naive.by_offset(seen, REACH)
    np.testing.assert_allclose(result.neighbour_total, total, **tolerance)
    np.testing.assert_array_equal(result.neighbour_count, count)
    others = np.delete(total, REACH, axis=1)
    wanted = np.insert(others / others.sum(1, keepdims=True), REACH, np.nan, axis=1)
    np.testing.assert_allclose(result.neighbour_share, wanted, **tolerance)
    for name, centre in (("cls", naive.CLS), ("sep", naive.SEP)):
        total, count = naive.to_class(seen, REACH, centre)
        np.testing.assert_array_equal(result[f"{name}_count"], count)
        total[:, count == 0] = np.nan
        np.testing.assert_allclose(result[f"{name}_total"], total, **tolerance)
        np.testing.assert_allclose(
            result[f"{name}_share"], total / np.nansum(total, axis=1, keepdims=True), **tolerance
        )
    low, first, median, third, high = (
        result.own_box.sel(group="all", mark=m).values for m in MARKS
    )
    quartiles = np.quantile(rows, [0.25, 0.5, 0.75], axis=0, method="linear")
    np.testing.assert_allclose([first, median, third], quartiles, atol=0.02)
    assert (low >= rows.min(0) - 1e-3).all()
    assert (high <= rows.max(0) + 1e-3).all()


@pytest.mark.slow
def test_batches_order_and_shards_change_nothing(injected, tmp_path):
    encoded = pairs_of(model("bert"))
    once = study(encoded, settings=SETTINGS.replace(batch_tokens=10_000))
    same(once, study(encoded, settings=SETTINGS.replace(batch_tokens=1)), rtol=1e-12, atol=1e-12)
    same(once, study(encoded[::-1]), rtol=1e-12, atol=1e-12)
    assert {shape[0] for _, _, shape in injected} == {1}  # so that progress is shown after each
    kept = study(encoded, folder=RunFolder(path=tmp_path / "run"))
    same(once, kept, rtol=1e-12, atol=1e-12)
    calls = len(injected)
    same(kept, study(encoded, folder=RunFolder(path=tmp_path / "run", resume=True)), rtol=0)
    assert len(injected) == calls
    with pytest.raises(RunError, match=r"other settings \(reach\)"):
        study(
            encoded, settings=SETTINGS.replace(reach=3),
            folder=RunFolder(path=tmp_path / "run", resume=True),
        )  # fmt: skip


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_changes_nothing(side):
    found = model("bert")
    encoded = pairs_of(found, 3)
    batch = collate(encoded, 0, side)
    width = batch.input_ids.shape[1]
    c = torch.zeros(LAYERS, 3, width, width, dtype=torch.float64)
    for number, one in enumerate(encoded):
        there = batch.attention_mask[number].nonzero()[:, 0]
        c[:, number, there[:, None], there] = torch.from_numpy(given(one))
    present = batch.attention_mask.bool()
    seen = [(given(one), list(one.categories)) for one in encoded]
    np.testing.assert_allclose(own_contribution(c).movedim(0, 2)[present], naive.own(seen))
    shares = is_not_largest(c).movedim(0, 2)[present].double().mean(0)
    np.testing.assert_allclose(shares, naive.not_largest(seen))
    rows = by_distance(c, present).movedim(0, 2)[present]
    np.testing.assert_allclose(np.nanmean(rows, axis=0), naive.by_distance(seen))
    sums = by_offset(c, present, REACH)
    total, count = naive.by_offset(seen, REACH)
    np.testing.assert_allclose(sums.total, total)
    np.testing.assert_array_equal(sums.count, count)


def test_three_tokens_by_hand():
    c = torch.tensor([[[[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.0, 0.4, 0.6]]]])
    present = torch.ones(1, 3, dtype=torch.bool)
    assert own_contribution(c)[0, 0].tolist() == pytest.approx([0.5, 0.2, 0.6])
    assert is_not_largest(c)[0, 0].tolist() == [False, True, False]
    distance = by_distance(c, present)[0, 0]
    assert distance[:, 0].tolist() == pytest.approx([0.3, 0.4, 0.4])  # the middle has two
    assert distance[[0, 2], 1].tolist() == pytest.approx([0.2, 0.0])
    assert distance[1, 1].isnan()
    assert distance[:, 2:].isnan().all()
    sums = by_offset(c, present, 2)
    assert sums.count.tolist() == [1, 2, 3, 2, 1]
    assert sums.total[0].tolist() == pytest.approx([0.0, 0.5, 1.3, 1.0, 0.2])
    received = centred(c[:, :, 0], present, torch.tensor([2]), 1)
    assert received.count.tolist() == [1, 1, 0]
    assert received.total[0].tolist() == pytest.approx([0.3, 0.2, 0.0])
    nowhere = centred(c[:, :, 0], present, torch.tensor([-1]), 1)
    assert nowhere.count.tolist() == [0, 0, 0]


def test_boxes_by_hand():
    edges = np.linspace(0, 10, 11)
    counts = np.zeros((2, 10))
    counts[0, [0, 4, 5, 9]] = [1, 4, 4, 1]
    low, first, median, third, high = boxes(counts, edges)[0]
    assert (first, median, third) == (4.375, 5.0, 5.625)
    assert (low, high) == (4.0, 6.0)  # the first and the last are out of the whiskers' reach
    assert np.isnan(boxes(counts, edges)[1]).all()
    counts[1, 3] = 2
    assert boxes(counts, edges)[1].tolist() == [3.0, 3.25, 3.5, 3.75, 4.0]


@pytest.mark.slow
def test_only_short_examples_are_computed_exactly(injected):
    encoded = pairs_of(model("bert"))
    longest = max(len(one.ids) for one in encoded)
    for allowed, compared in ((1, 0), (longest - 1, None), (longest, 3)):
        settings = SETTINGS.replace(exact=3, exact_tokens=allowed)
        result = study(encoded, settings=settings, method=AttributionSettings())
        short = sum(len(one.ids) <= allowed for one in encoded)
        assert result.attrs["exact_examples"] == (min(3, short) if compared is None else compared)
        assert ("exact_relative" in result) == (result.attrs["exact_examples"] > 0)


@pytest.mark.slow
def test_the_estimate_is_compared_with_what_is_exact(injected, tmp_path):
    encoded = pairs_of(model("bert"))
    settings = SETTINGS.replace(exact=3)
    result = study(
        encoded,
        settings=settings,
        method=AttributionSettings(),
        folder=RunFolder(path=tmp_path / "run"),
    )
    assert result.attrs["exact_examples"] == 3
    assert result.attrs["examples"] == len(encoded)
    first = encoded[:3]
    exact, guess = (
        np.concatenate([given(one, noise).reshape(LAYERS, -1) for one in first], axis=1)
        for noise in (0.0, 0.1)
    )
    difference = np.abs(guess - exact)
    tolerance = {"rtol": 1e-4, "atol": 1e-7}
    np.testing.assert_allclose(result.exact_difference, difference.mean(1), **tolerance)
    np.testing.assert_allclose(result.exact_relative, (difference / exact).mean(1), **tolerance)
    inside = (difference <= 0.2 * guess).mean(1)
    np.testing.assert_allclose(result.exact_inside, inside, atol=0.01)
    wanted = [np.corrcoef(exact[layer], guess[layer])[0, 1] for layer in range(LAYERS)]
    np.testing.assert_allclose(result.exact_correlation, wanted, **tolerance)
    seen = [(given(one), list(one.categories)) for one in first]
    np.testing.assert_allclose(result.exact_own_mean, naive.own(seen).mean(0), **tolerance)
    np.testing.assert_allclose(result.exact_not_largest, naive.not_largest(seen), **tolerance)
    errors = naive.own([(0.1 * given(one, 0.1), list(one.categories)) for one in encoded])
    np.testing.assert_allclose(result.own_estimate_error, np.sqrt((errors**2).mean(0)), **tolerance)
    assert {method for method, *_ in injected} == {"exact", "estimate"}
    again = study(
        encoded, settings=settings, method=AttributionSettings(),
        folder=RunFolder(path=tmp_path / "run", resume=True),
    )  # fmt: skip
    same(result, again, rtol=0)


@pytest.mark.slow
def test_the_time_is_stated_before_anything_is_computed(monkeypatch, capsys):
    network, encoded = model("bert"), pairs_of(model("bert"))
    settings = SETTINGS.replace(exact=2, attribution=AttributionSettings(directions=8))
    plan = AttributionStudy(examples_of(encoded), network, settings).plan
    tried = []
    with monkeypatch.context() as patched:
        patched.setattr(expected_time, "perf_counter", iter((0.0, 60.0)).__next__)
        patched.setattr(expected_time, "attribute", lambda *given, **_: tried.append(given))
        seconds = expected_time.expected_seconds(plan, settings, encoded)
    line = outlook(encoded, settings, seconds)
    assert [(len(batch.input_ids), few.directions) for _, batch, few in tried] == [(1, 2), (1, 8)]
    squares = [len(text.ids) ** 2 for text in encoded]
    dimensions = network.transformer.get_input_embeddings().weight.shape[1]
    minutes = sum(squares) / min(squares)
    exact = dimensions / 8 * sum(squares[:2]) / min(squares)
    begin = f"about {minutes:,.1f} minutes for {len(encoded)} texts"
    assert line == f"{begin}, then {exact:,.1f} to compute 2 exactly\n"
    alone = outlook(encoded, settings.replace(exact=0), seconds)
    assert alone.endswith(f"for {len(encoded)} texts\n")
    ahead, shown = [], passes.show_progress
    monkeypatch.setattr(
        passes,
        "show_progress",
        lambda *args, **more: ahead.append(more["seconds"]) or shown(*args, **more),
    )
    run(examples_of(encoded[:3]), network, settings, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("about 0.")
    assert lines[1].startswith("how good the estimate is: a second pass")
    assert len(ahead) == 2
    assert all(each > 0 for each in ahead)
    said = float(lines[0].split()[1]) * 60
    assert ahead[0] == pytest.approx(said, abs=3)  # in tenths of a minute


WORDS = ["the", "old", "mill", "lake", "."]
UPOS = ["DET", "ADJ", "NOUN", "NOUN", "PUNCT"]
XPOS = ["DT", "JJ", "NN", "NN", "."]
TAGGED = [
    Sentence(
        f"ours:{number}", (*WORDS[: 3 + number], "the-sea"),
        upos=(*UPOS[: 3 + number], "PROPN"),
        xpos=(*XPOS[: 3 + number], "NNP"),
    )
    for number in range(3)
]  # fmt: skip


@pytest.mark.parametrize("tags", ["upos", "xpos"])
def test_parts_of_speech(injected, tags):
    found = model("bert")
    encoded = list(sentences(TAGGED, found.tokenizer, max_length=32))
    assert any(encoded[0].words.count(word) == 3 for word in set(encoded[0].words))  # the - sea
    result = study(encoded, found, SETTINGS.replace(tags=tags))
    wanted = {}
    for one in encoded:
        c = given(one)
        for word, tag in enumerate(getattr(one.sentence, tags)):
            pieces = [place for place, number in enumerate(one.words) if number == word]
            wanted.setdefault(tag, []).extend(c[:, place, place] for place in pieces)
    assert result.group.values.tolist()[5:] == sorted(wanted)
    for tag, rows in wanted.items():
        assert int(result.own_count.sel(group=tag)) == len(rows)
        np.testing.assert_allclose(
            result.own_mean.sel(group=tag), np.mean(rows, axis=0), rtol=1e-5, err_msg=tag
        )
    specials = result.own_count.sel(group=["cls", "sep"]).values
    assert specials.tolist() == [3, 3]


@pytest.mark.slow
def test_one_layer_of_the_model_itself():
    found = model("bert")
    encoded = pairs_of(found, 3, 6)
    result = study(encoded, found, settings=SETTINGS.replace(layers=(1,)))
    seen = []
    for one in encoded:
        c = attribute(found, collate([one], 0), EXACT).contribution[1:2, 0]
        seen.append((c.double().numpy(), list(one.categories)))
    assert result.layer.values.tolist() == [1]
    tolerance = {"rtol": 1e-3, "atol": 1e-6}
    np.testing.assert_allclose(
        result.own_mean.sel(group="all"), naive.own(seen).mean(0), **tolerance
    )
    np.testing.assert_allclose(result.by_distance, naive.by_distance(seen), **tolerance)
    assert result.attrs["kind"] == "encoder"


def test_a_decoder_has_nothing_from_what_comes_later():
    found = model("llama")
    encoded = [encode_one(found.tokenizer, text) for text in texts(2, 8)]
    result = study(encoded, found)
    after = result.neighbour_total.sel(offset=slice(1, None)).dropna("offset")
    assert after.size > 0
    assert (after == 0).all()
    assert (result.neighbour_total.sel(offset=-1) > 0).all()


def test_refusals(injected, unchecked):
    found = model("bert")
    encoded = pairs_of(found, 2)
    for options, kind, part in (
        ({"tags": "pos"}, UnknownNameError, "no tags is called 'pos'"),
        ({"reach": 0}, UsageError, "at least 1"),
        ({"exact": -1}, UsageError, "at least 0"),
    ):
        with pytest.raises(kind, match=part):
            AttributionStudySettings(**options)
    with pytest.raises(UsageError, match="treebank sentences alone"):
        study(encoded, found, SETTINGS.replace(tags="upos"))
    bare = [replace(sentence, upos=()) for sentence in TAGGED]
    with pytest.raises(UsageError, match="no tags in 'upos'"):
        study(
            list(sentences(bare, found.tokenizer, max_length=32)), found,
            SETTINGS.replace(tags="upos"),
        )  # fmt: skip
    bart = model("bart")
    with pytest.raises(UsageError, match="goes from one text to another"):
        run(["the sea"], bart, AttributionStudySettings(kind="cross", pairs=True), progress=False)


def test_words_are_pooled_as_for_weights():
    found = model("bert")
    encoded = list(sentences(TAGGED, found.tokenizer, max_length=32))
    batch = collate(encoded, 0)
    words = Words.of(batch.word, special=True)
    c = attribute(found, batch, EXACT).contribution
    pooled = words.pool(c.movedim(0, 1))
    np.testing.assert_allclose(
        pooled.sum(-1)[words.present[:, None].expand(-1, 2, -1)], 1, rtol=1e-5
    )
