"""Heads as resolvers, from documents to the result, on tiny models."""

import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray

from headlight.capture import OwnObjective
from headlight.corpora import Sentence
from headlight.engine.folder import RunFolder
from headlight.errors import CorpusError, MissingHeadError, RunError, UnknownNameError, UsageError
from headlight.result import load, save
from headlight_words.corpora import CoreferenceDocument, Mention
from headlight_words.findings.coreference import best_heads, systems_table
from headlight_words.studies.coreference import CoreferenceSettings, TaskSettings
from headlight_words.studies.coreference.study import AntecedentObserver, run
from open_folders import opening
from studies.coreference_documents import bakery, random_document, windows
from studies.intervals import agrees
from studies.models import WORDS, model, uneven

KINDS = ("all", "pronoun", "proper", "nominal")
WHOLE = Path(os.environ.get("HEADLIGHT_DATA", "")) / "ontogum_coref"


def documents(number: int = 10, seed: int = 5) -> list[CoreferenceDocument]:
    """Random ones; every fourth word has three pieces."""
    generator = np.random.default_rng(seed)
    made = []
    for name in range(number):
        words = generator.choice(WORDS, size=int(generator.integers(4, 24)))
        long = tuple(f"{word}-{word}" if generator.random() < 0.25 else str(word) for word in words)
        made.append(random_document(generator, str(name), long))
    return made


def found(corpus, family="bert", *, folder=None, objective=None, **settings) -> xarray.Dataset:
    made = model(family) if isinstance(family, str) else family
    plain = {"max_length": 40, "measures": ("weight",), "sentences": False}
    return opening(run)(
        corpus, made, CoreferenceSettings(**plain | settings), objective=objective, folder=folder,
        progress=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize(
    ("settings", "choices"),
    [
        ({"max_length": 40}, {}),
        ({"max_length": 14}, {}),
        ({"max_length": 14, "overlap": 5, "preceding": False}, {"singletons": True}),
        ({"max_length": 16, "overlap": 3, "candidates": "words"}, {"evaluated": "all"}),
    ],
)
def test_as_the_models_own_attention_has_it(family, settings, choices):
    corpus = documents()
    result = found(corpus, family, measures=("weight",), **settings, **choices)
    correct, count = naive(corpus, model(family), settings, choices)
    assert count["all"] > 5
    assert {kind: int(result["count"].sel(mention_kind=kind)) for kind in KINDS} == count
    np.testing.assert_array_equal(result.correct.sel(measure="weight"), correct)
    np.testing.assert_array_equal(
        result.accuracy.sel(measure="weight", mention_kind="all"), correct[..., 0] / count["all"]
    )


def naive(corpus, made, settings, choices):
    """Window by window, mention by mention, from the attention that the model itself returns."""
    limits = {name: settings.get(name) for name in ("max_length", "overlap")}
    correct = np.zeros((2, 4, 2, 4))
    count = dict.fromkeys(KINDS, 0)
    for document in corpus:
        seen = set()
        for span in windows(document, made.tokenizer, **limits):
            maps = word_maps(made, span)
            for mention, answers, allowed in questions(document, span, seen, settings, choices):
                kinds = ["all", mention.kind]
                for kind in kinds:
                    count[kind] += 1
                here = mention.head - span.first
                for layer, head, direction in np.ndindex(2, 4, 2):
                    square = maps[layer, head]
                    row = square[:, here] if direction else square[here]
                    options = [word for word in sorted(allowed) if row[word] > 0]
                    picked = max(options, key=lambda word: (row[word], -word), default=None)
                    for kind in kinds:
                        right = picked in answers
                        correct[layer, head, direction, KINDS.index(kind)] += right
    return correct, count


def questions(document, span, seen, settings, choices):
    sizes = [mention.chain for mention in document.mentions]
    mentions = [
        m for m in document.mentions if choices.get("singletons") or sizes.count(m.chain) > 1
    ]
    inside = [m for m in mentions if span.first <= m.first and m.last < span.first + span.kept]
    for mention in inside:
        if mention in seen:
            continue
        seen.add(mention)
        earlier = {m.head for m in inside if m.chain == mention.chain and m.head < mention.head}
        anywhere = any(m.chain == mention.chain and m.head < mention.head for m in mentions)
        if not (anywhere if choices.get("evaluated") == "all" else earlier):
            continue
        words = {m.head for m in inside}
        if settings.get("candidates") == "words":
            words = set(range(span.first, span.first + span.kept))
        if settings.get("preceding", True):
            words = {word for word in words if word < mention.head}
        shifted = (
            {word - span.first for word in some} for some in (earlier, words - {mention.head})
        )
        yield mention, *shifted


def word_maps(made, span) -> np.ndarray:
    """[layer, head, word, word]: sum over the pieces attended to, mean over those that attend."""
    transformer = made.transformer
    transformer.set_attn_implementation("eager")
    with torch.no_grad():
        attentions = transformer(
            input_ids=torch.tensor([span.ids]), output_attentions=True
        ).attentions
    maps = np.zeros((2, 4, span.kept, span.kept))
    pieces = [[i for i, w in enumerate(span.words) if w == word] for word in range(span.kept)]
    for layer, head, query, key in np.ndindex(*maps.shape):
        cells = [
            sum(float(attentions[layer][0, head, i, j]) for j in pieces[key]) for i in pieces[query]
        ]
        maps[layer, head, query, key] = sum(cells) / len(cells)
    return maps


def test_baselines_stand_beside_the_heads():
    result = found([bakery()], max_length=60)
    assert result["count"].values.tolist() == [8, 5, 2, 1]
    assert result.baseline_correct.sel(mention_kind="all").values.tolist() == [1, 2, 8]
    assert result.baseline_accuracy.sel(baseline="head match").values.tolist() == [
        2 / 8, 0, 1 / 2, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("overlap", [None, 0, 4])
@pytest.mark.parametrize("evaluated", ["resolvable", "all"])
def test_every_mention_is_accounted_for(overlap, evaluated):
    corpus = documents(16)
    single = Mention("alone", 0, 0, 0, "nominal")
    corpus.append(CoreferenceDocument("alone", (Sentence("x:1", ("the", "sea")),), (single,)))
    result = found(corpus, max_length=12, overlap=overlap, evaluated=evaluated)
    of = result.attrs
    assert of["documents"] == 17
    assert of["documents_without"] >= 1
    assert of["mentions"] == of["answerable"] + of["without_antecedent"] + of["cut"] + of["opening"]
    expected = sum(
        [m.chain for m in document.mentions].count(mention.chain) > 1
        for document in corpus
        for mention in document.mentions
    )
    assert of["mentions"] == expected
    asked = of["answerable"] + (of["without_antecedent"] if evaluated == "all" else 0)
    assert result["count"].sel(mention_kind="all") == asked
    assert (of["truncated"] > 0) == (overlap is None)
    assert of["cut"] > 0 or overlap == 4
    kinds = result["count"].sel(mention_kind=list(KINDS[1:]))
    assert kinds.sum() == asked


def test_batches_do_not_matter():
    corpus = documents(6)
    measures = ("weight", "norm", "effective")
    one, all_at_once = (
        found(corpus, batch_tokens=tokens, measures=measures) for tokens in (1, 4096)
    )
    xarray.testing.assert_equal(one, all_at_once)


@pytest.mark.slow
def test_measures_do_not_disturb_one_another():
    corpus = documents()
    together = found(corpus, measures=("norm", "weight", "effective"))
    assert together.measure.values.tolist() == ["norm", "weight", "effective"]
    for measure in ("weight", "norm", "effective"):
        alone = found(corpus, measures=(measure,))
        xarray.testing.assert_equal(together.sel(measure=[measure]), alone)
    assert (together.correct.sel(measure="norm") != together.correct.sel(measure="weight")).any()


@pytest.mark.slow
def test_a_run_is_resumed_or_made_anew(tmp_path: Path, monkeypatch):
    corpus = documents()
    first = found(corpus, folder=RunFolder(path=tmp_path))
    again = RunFolder(path=tmp_path, resume=True)
    with monkeypatch.context() as patched:
        patched.setattr(AntecedentObserver, "visit", lambda *_: pytest.fail("the model ran again"))
        xarray.testing.assert_identical(first, found(corpus, folder=again))
    (tmp_path / "result.nc").unlink()
    merged = found(corpus, folder=again)
    xarray.testing.assert_equal(first, merged)
    differing = {name for name in first.attrs if first.attrs[name] != merged.attrs[name]}
    assert differing <= {"created"}
    with pytest.raises(RunError, match="preceding"):
        found(corpus, folder=again, preceding=False)
    with pytest.raises(UsageError, match="holds a run already"):
        found(corpus, folder=RunFolder(path=tmp_path))
    other = found(corpus, folder=RunFolder(path=tmp_path, overwrite=True), preceding=False)
    assert other.attrs["settings"] != first.attrs["settings"]


def test_layers_with_fewer_heads_have_no_answers_for_the_others():
    result = found(documents(), uneven())
    assert np.isnan(result.accuracy.sel(layer=1, head=[2, 3])).all()
    assert not np.isnan(result.accuracy.sel(layer=1, head=[0, 1], mention_kind="all")).any()
    low = result.headlight.interval("accuracy")["low"]
    assert np.isnan(low.sel(layer=1, head=3)).all()
    best = best_heads(result, "weight").iloc[0]
    assert best["layer"] == 0 or best["head"] < 2


@pytest.mark.slow
def test_intervals_are_those_of_documents():
    corpus, runs = [], []
    for document in documents(16):
        with suppress(CorpusError):  # nothing is asked of it
            runs.append(found([document], overlap=4))
            corpus.append(document)
    result = found(corpus, overlap=4)
    assert len(runs) > 8
    for name, of in (("accuracy", "correct"), ("baseline_accuracy", "baseline_correct")):
        right, asked = (np.stack([run[each].values for run in runs]) for each in (of, "count"))
        wholes = asked.reshape(len(runs), *(1,) * (right.ndim - 2), -1)
        agrees(result, name, right, wholes)


@pytest.mark.slow
def test_the_gradient_has_a_pass_of_its_own(tmp_path: Path):
    objective = OwnObjective(lambda output, _: output.last_hidden_state.square().sum((1, 2)), "sum")
    asked = {"measures": ("gradient", "weight"), "objective": objective}
    made = found(documents(), folder=RunFolder(path=tmp_path), **asked)
    assert made.measure.values.tolist() == ["gradient", "weight"]
    plain = found(documents(), measures=("weight",))
    xarray.testing.assert_equal(made.sel(measure=["weight"]), plain)
    assert (made.correct.sel(measure="gradient") != made.correct.sel(measure="weight")).any()
    resumed = found(documents(), folder=RunFolder(path=tmp_path, resume=True), **asked)
    xarray.testing.assert_equal(made, resumed)
    assert not (tmp_path / "gradient").exists()
    (tmp_path / "result.nc").unlink()
    merged = found(documents(), folder=RunFolder(path=tmp_path, resume=True), **asked)
    xarray.testing.assert_equal(made, merged)


def test_the_result_says_how_it_was_made(tmp_path: Path):
    result = found(documents(), layers=(1,), measures=("norm",))
    save(result, tmp_path / "result.nc")
    again = load(tmp_path / "result.nc", stage="coreference")
    xarray.testing.assert_equal(result, again)
    assert again.layer.values.tolist() == [1]
    settings = json.loads(again.attrs["settings"])
    assert {name: settings[name] for name in ("candidates", "nested", "singletons")} == {
        "candidates": "mentions",
        "nested": "include",
        "singletons": False,
    }
    assert set(TaskSettings.__dataclass_fields__) <= set(settings)


def test_the_best_head_is_the_best_over_all_mentions():
    result = found([bakery()], max_length=60, measures=("weight", "norm"))
    accuracy = xarray.zeros_like(result.accuracy)
    accuracy.loc[{"measure": "norm", "layer": 1, "head": 2, "direction": "antecedent"}] = [
        0.5,
        0.1,
        0.2,
        1,
    ]
    accuracy.loc[{"measure": "norm", "layer": 0, "head": 1, "direction": "mention"}] = [
        0.4,
        1,
        1,
        1,
    ]
    accuracy.loc[{"measure": "weight", "layer": 0, "head": 3, "direction": "mention"}] = [
        0.6,
        0.7,
        0,
        0,
    ]
    table = systems_table(result.assign(accuracy=accuracy))
    assert table.index.tolist() == ["nearest", "head match", "rule-based", "weight", "norm"]
    assert table.loc["norm"].tolist() == [50, 10, 20, 100, 1, 2, "antecedent"]
    assert table.loc["weight"].tolist() == [60, 70, 0, 0, 0, 3, "mention"]
    assert table.loc["head match", list(KINDS)].tolist() == [25, 0, 50, 100]
    assert table.loc["nearest", ["layer", "head", "direction"]].isna().all()
    one = systems_table(result.assign(accuracy=accuracy), "norm")
    assert one.index.tolist() == ["nearest", "head match", "rule-based", "norm"]


def test_what_does_not_fit_together_is_refused():
    corpus = documents()
    for settings, message in [
        ({"measures": ()}, "at least one"),
        ({"measures": ("weight", "weight")}, "each of them once"),
        ({"overlap": -1}, "overlap must be at least 0"),
        ({"max_length": 10**6}, "takes at most"),
        ({"max_length": 2}, "no room"),
        ({"layers": (7,)}, "no encoder layer 7"),
    ]:
        with pytest.raises(UsageError, match=message):
            found(corpus, **settings)
    with pytest.raises(UnknownNameError, match="no measure is called 'wieght'"):
        found(corpus, measures=("wieght",))
    with pytest.raises(MissingHeadError, match="language-model head"):
        found(corpus, measures=("gradient",))
    with pytest.raises(UsageError, match="read more than once"):
        found(iter(corpus))


def test_a_corpus_without_antecedents_is_refused():
    words = Sentence("x:1", ("the", "sea", "is", "old"))
    alone = CoreferenceDocument("x", (words,), (Mention("1", 0, 1, 1, "nominal"),))
    with pytest.raises(CorpusError, match="has it mentions with an antecedent"):
        found([alone])


def test_words_that_the_tokenizer_drops_are_refused_or_counted():
    words = Sentence("x:1", ("the", "\u00a0", "sea", "it"))
    mentions = (Mention("1", 0, 0, 0, "nominal"), Mention("1", 3, 3, 3, "pronoun"))
    broken = CoreferenceDocument("x", (words,), mentions)
    with pytest.raises(CorpusError, match="x:1"):
        found([broken, *documents()])
    result = found([broken, *documents()], unencodable="skip")
    assert result.attrs["unencodable"] == 1
    assert result.attrs["documents"] == 10


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
@pytest.mark.parametrize("overlap", [None, 12])
def test_ontogum(overlap):
    result = found(
        WHOLE / "ontogum-dev_open.conllu.xz", max_length=64, overlap=overlap, max_examples=6,
        measures=("weight",),
    )  # fmt: skip
    of = result.attrs
    assert of["documents"] == 6
    assert of["mentions"] == of["answerable"] + of["without_antecedent"] + of["cut"] + of["opening"]
    assert result["count"].sel(mention_kind="all") == of["answerable"] > 20
    baselines = result.baseline_accuracy.sel(mention_kind="all")
    assert baselines.sel(baseline="rule-based") > baselines.sel(baseline="nearest")
    assert (of["lost_tokens"] > 0) == (overlap is None)
