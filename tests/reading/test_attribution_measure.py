"""Contributions as a measure: whatever looks at them sees what the engine gives."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from headlight.capture.attribution import attribute
from headlight.encode import encode_one
from headlight.encode.batch import collate
from headlight.engine.batch_runner import BatchRunner
from headlight.errors import CaptureError, UsageError
from headlight.findings import average
from headlight.measures import Scores
from headlight.reading import read
from headlight.result.estimate import with_ends
from headlight.settings.attribution import AttributionSettings
from headlight.studies.distances import DistanceSettings, study as distances
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run
from headlight.views import terminal_table
from headlight.views.result_contents import tables
from headlight.views.result_page import result_page
from headlight.vocabulary import ATTRIBUTION
from studies import naive
from studies.command import Command
from studies.models import saved, subject, texts
from studies.test_gradient import MASKED, entropies, with_head
from studies.test_numbers import examples_of

EXACT = AttributionSettings(method="exact")
TEXT, PAIR = "the old mill , the river and the sea", "a lake is full of mud"
QUIET = {"attribution": EXACT}


def contributions(found, example, kind=None) -> np.ndarray:
    """[layer, query, key], of one example alone."""
    c = attribute(found, collate([example], 0), EXACT, kind=kind).contribution
    return c[:, 0].double().numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind", "pair"),
    [("bert", "encoder", PAIR), ("llama", "decoder", None), ("bart", "cross", PAIR)],
)
def test_a_reading(family, kind, pair):
    found = subject(family)
    reading = read(found, TEXT, pair, kind=kind, attribution=EXACT)
    assert reading.attribution.dims == ("layer", "query", "key")
    example = encode_one(found.tokenizer, TEXT, pair, decoder_start=found.decoder_start)
    np.testing.assert_allclose(
        reading.attribution, contributions(found, example, kind), rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(reading.attribution.sum("key"), 1, rtol=1e-5)
    assert json.loads(reading.dataset.attrs["attribution"])["method"] == "exact"


@pytest.mark.slow
def test_a_reading_of_some_layers_as_a_file(tmp_path):
    found = subject("bert")
    reading = read(found, TEXT, layers=[1], attribution=True)
    assert reading.attribution["layer"].values.tolist() == [1]
    content = json.loads(reading.save(tmp_path / "one.json").read_text())
    np.testing.assert_allclose(content["attribution"], reading.attribution, rtol=1e-3, atol=1e-6)
    assert "Attribution to input tokens c: " in reading.save(tmp_path / "one.html").read_text()
    without = read(found, TEXT)
    assert "attribution" not in without.dataset
    with pytest.raises(UsageError, match="with attribution=True"):
        _ = without.attribution


@pytest.fixture(scope="module")
def ours():
    """A survey of contributions and weights, and the same text by text."""
    found, corpus = subject("bert"), texts(4, 9, seed=3)
    settings = SurveySettings(measures=(ATTRIBUTION, "weight"), attribution=EXACT, batch_tokens=60)
    result = run(corpus, found, settings, progress=False)
    examples = examples_of(found, corpus)
    return result, [(contributions(found, one), list(one.categories)) for one in examples]


@pytest.mark.slow
def test_a_survey(ours):
    result, seen = ours
    of = result.sel(measure=ATTRIBUTION, head=0)
    for layer in range(2):
        pairs = [(c[layer], kinds) for c, kinds in seen]
        for name, wanted in (
            ("total", naive.nan_mean([naive.pooled(c, kinds, kinds) for c, kinds in pairs])),
            ("share", naive.nan_mean([naive.pooled(c, kinds, kinds) for c, kinds in pairs])),
            ("neighbour", naive.nan_mean([naive.neighbours(c) for c, _ in pairs])),
            ("entropy", naive.nan_mean([entropies(c, kinds) for c, kinds in pairs])),
        ):
            np.testing.assert_allclose(
                of[name].isel(layer=layer), wanted, rtol=1e-4, atol=1e-6, err_msg=name
            )


@pytest.mark.slow
def test_only_the_first_head_of_a_survey_has_contributions(ours):
    result, _ = ours
    others = result.sel(measure=ATTRIBUTION, head=[1, 2, 3])
    for name in ("total", "share", "neighbour", "entropy"):
        assert others[name].isnull().all()
    weights = run(
        texts(4, 9, seed=3), subject("bert"), SurveySettings(measures=("weight",)), progress=False
    )
    for name in ("total", "entropy"):
        np.testing.assert_allclose(
            result[name].sel(measure="weight"), weights[name].sel(measure="weight"), rtol=1e-5
        )


@pytest.mark.slow
def test_a_report_has_contributions_by_layer(ours):
    result, _ = ours
    own = average(result["neighbour"].sel(measure=ATTRIBUTION, offset=0).values, axis=1)
    shown = tables(result)["layers_beside"].frame["attribution: itself %"]
    assert shown.tolist() == pytest.approx((100 * own).tolist())
    assert not any(ATTRIBUTION in name for name in tables(result)["heads"].frame)
    assert "heads_beside" not in tables(result)
    alone = result.sel(measure=[ATTRIBUTION], head=[0])
    assert "No head stands out" in rendered(terminal_table(alone))
    assert "attribution: itself %" in result_page(alone)


def rendered(shown) -> str:
    console = Console(width=100, record=True, file=StringIO())
    console.print(shown)
    return console.export_text()


@pytest.mark.slow
def test_a_survey_of_contributions_and_gradients():
    found, corpus = with_head("bert"), texts(2, 6, seed=5)
    settings = SurveySettings(measures=("gradient", ATTRIBUTION), attribution=EXACT)
    result = run(corpus, found, settings, objective=MASKED, progress=False)
    own = []
    for one in examples_of(found, corpus):
        prepared = MASKED.prepare(collate([one], 0))  # what the model sees, some tokens hidden
        c = attribute(found, prepared, EXACT, kind="encoder").contribution[:, 0]
        own.append(c.diagonal(dim1=1, dim2=2).double().mean(-1).numpy())
    found_own = result["neighbour"].sel(measure=ATTRIBUTION, head=0, offset=0)
    np.testing.assert_allclose(found_own, np.mean(own, axis=0), rtol=1e-4)


@pytest.mark.words
@pytest.mark.slow
def test_heads_as_parsers():
    from studies import dependency_naive
    from studies.test_dependency import evaluate, example_of, pooled, trees

    found, given = subject("bert"), trees(6, 7)
    result = evaluate(given, found, measures=(ATTRIBUTION, "weight"), **QUIET)
    layers = []
    for tree in given:
        example = example_of(found, tree)
        words = [None if word < 0 else word for word in example.words]
        c = contributions(found, example)
        layers.append([pooled(layer, words, len(tree)) for layer in c])
    lengths = [len(tree) for tree in given]
    for layer, direction in np.ndindex(2, 2):
        name = ("dependent", "head")[direction]
        predicted = [
            [dependency_naive.governor(each[layer], word, name) for word in range(length)]
            for each, length in zip(layers, lengths, strict=True)
        ]
        cells = result.correct.sel(measure=ATTRIBUTION, layer=layer, head=0, direction=name)
        for relation, (right, _) in dependency_naive.counts(
            given, lengths, predicted, rule=True
        ).items():
            assert cells.sel(relation=relation) == right
    low = with_ends(result, "accuracy")["accuracy_low"]
    names = ("correct", "accuracy", "uas_without_punctuation")
    for numbers in (low, *(result[name] for name in names)):
        assert numbers.sel(measure=ATTRIBUTION, head=[1, 2, 3]).isnull().all()
        of_weights = numbers.sel(measure="weight").isel(relation=0, missing_dims="ignore")
        assert not of_weights.isnull().any()
    plain = evaluate(given, found, measures=("weight",))
    np.testing.assert_array_equal(
        result.correct.sel(measure="weight"), plain.correct.sel(measure="weight")
    )


@pytest.mark.words
@pytest.mark.slow
def test_heads_as_resolvers(monkeypatch):
    from headlight_words.findings.coreference import systems_table
    from studies import test_coreference_heads as antecedents
    from studies.test_dependency import pooled

    found, corpus = subject("bert"), antecedents.documents(4)

    def word_maps(model, span):
        words = [None if word < 0 else word for word in span.words]
        c = contributions(model, span)
        return np.stack([[pooled(layer, words, span.kept)] * 4 for layer in c])

    monkeypatch.setattr(antecedents, "word_maps", word_maps)
    correct, _ = antecedents.naive(corpus, found, {"max_length": 40}, {})
    result = antecedents.found(
        corpus, found, max_length=40, measures=("weight", ATTRIBUTION), **QUIET
    )
    np.testing.assert_array_equal(result.correct.sel(measure=ATTRIBUTION, head=0), correct[:, 0])
    assert result.accuracy.sel(measure=ATTRIBUTION, head=[1, 2, 3]).isnull().all()
    assert systems_table(result).loc[ATTRIBUTION, "head"] == 0


def test_records_do_not_have_what_nobody_asked_for():
    found = subject("bert")
    batch = collate([encode_one(found.tokenizer, TEXT)], 0)
    with found.capture() as recorder:
        recorder.visit = lambda record: Scores(record).attribution
        with pytest.raises(CaptureError, match="were not computed"):
            found.run(batch)


def test_one_kind_at_a_time():
    bart = subject("bart")
    example = encode_one(bart.tokenizer, TEXT, PAIR, decoder_start=bart.decoder_start)
    step = BatchRunner(bart, bart.sites, lambda batch, examples: None, attribution=EXACT)
    with step, pytest.raises(UsageError, match="one kind of attention at a time"):
        step([example])


def test_heads_have_no_distance_by_contributions():
    with pytest.raises(UsageError, match="of a layer and not of a head"):
        distances.run(["the sea"], subject("bert"), DistanceSettings(measures=(ATTRIBUTION,)))


@pytest.mark.slow
def test_on_the_command_line(monkeypatch, capsys, tmp_path):
    headlight = Command(monkeypatch, capsys)
    model = saved("bert", tmp_path / "model")
    code, said, complained = headlight(
        "read", TEXT, "--model", model, "--measure", ATTRIBUTION, "--attribution-directions", 2
    )
    assert code == 0, complained
    assert "layer  strongest links by attribution" in said
    (tmp_path / "corpus.txt").write_text("\n".join(texts(2, 5)))
    code, _, complained = headlight(
        "survey", tmp_path / "corpus.txt", "--model", model, "--out", tmp_path / "run",
        "--measures", "weight,attribution", "--attribution-method", "exact",
    )  # fmt: skip
    assert code == 0, complained
    for options, part in (
        (("read", TEXT, "--attribution-method", "exact"), "choose --measure attribution"),
        (("survey", "--attribution-directions", 3), "add attribution to --measures"),
    ):
        assert part in headlight.refused(*options, code=2)
