"""Studies of translators of five families: what their results say, and what they are called."""

import json
from functools import partial

import numpy as np
import pytest
import xarray

import headlight
from headlight.corpora.pair_corpus import open_sentence_pairs
from headlight.corpora.pairs import SentencePair
from headlight.engine.folder import RunFolder
from headlight.errors import UsageError
from headlight.findings import highlights
from headlight.result.estimate import estimate_of
from headlight.result.kinds import of_kind, split_kinds
from headlight.studies.distances import DistanceSettings
from headlight.studies.distances.study import run as run_distances
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as run_survey
from headlight.views.result_contents import tables
from headlight.views.result_page import result_page
from open_folders import opening
from studies.chosen_numbers import settings_for
from translators import FAMILIES, SOURCE, TARGET
from views.pages import Page

distances = opening(run_distances)
survey = opening(run_survey)

pytestmark = pytest.mark.usefixtures("undrawn")

TEXTS = [
    (SOURCE, TARGET),
    ("der hund , der bellt", "the dog that barks"),
    ("wir sehen das haus .", "we see it"),
]
ABSENT = {"marian": "<s>", "t5": "<s>", "bart": "<pad>", "m2m_100": "<s>", "mbart": "<s>"}
"""What is nowhere in the texts of a family, neither in the source nor in the target."""


def pairs():
    return open_sentence_pairs(
        [SentencePair(f"pair {n}", *texts, None) for n, texts in enumerate(TEXTS)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_only_what_stands_there_is_named(family):
    settings = SurveySettings(kind="cross")
    result = survey(pairs(), FAMILIES[family].model(), settings, progress=False)
    source, target = (
        json.loads(result.attrs[name]) for name in ("category_names", "query_category_names")
    )
    page = result_page(result)
    said = [page, *(each.text for each in highlights(result))]
    assert not any(
        ABSENT[family] in text.replace("&lt;", "<").replace("&gt;", ">") for text in said
    )
    assert "[CLS]" not in page.replace("where [SEP] attends to [SEP]", "")
    occurring = {str(name) for name in result["key_category"].values[result["token_share"] > 0]}
    assert ("cls" in occurring) == bool(FAMILIES[family].source[0])
    columns = tables(result)["heads"].frame.columns
    assert f"weight {source['sep']} %" in columns
    assert not [c for c in columns if "next" in c]
    assert f"from {target['cls']}".replace("<", "&lt;").replace(">", "&gt;") in page


@pytest.mark.slow
def test_ranks_of_the_source_alone():
    model = FAMILIES["marian"].model()
    settings = settings_for("ranks", kind="cross")
    result = survey(pairs(), model, settings, progress=False)
    assert result["token_count"].sel(key_group="cls") == 0
    correlations = tables(result)["correlations"].frame
    assert list(correlations["category"]) == ["</s>", "punctuation", "other tokens"]


RUNS = {
    "ranks": (survey, partial(settings_for, "ranks")),
    "distances": (distances, DistanceSettings),
    "null_space": (survey, partial(settings_for, "null_space")),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["marian", "t5", "bart", "m2m_100", "mbart"])
def test_all_kinds_in_one_pass_are_those_of_three_runs(family):
    """To what rounding changes: a run of one kind leaves the others their fused attention."""
    model = FAMILIES[family].model(**({} if family == "t5" else {"encoder_layers": 3}))
    assert model.sites  # looked for once, in a pass of its own
    assert model.stream is not None  # so is the residual stream
    passes = []
    model.transformer.register_forward_hook(lambda *_: passes.append(1))
    settings = SurveySettings(kind="all", passages=False)  # texts are read once, then
    together = survey(pairs(), model, settings, progress=False)
    count = len(passes)
    assert together.attrs["kind"] == "all"
    assert list(together["kind"].values) == ["encoder", "decoder", "cross"]
    parts = split_kinds(together)
    for kind in ("decoder", "cross"):
        passes.clear()
        settings = SurveySettings(kind=kind, passages=False)
        agrees(parts[kind], survey(pairs(), model, settings, progress=False))
        assert len(passes) == count
    sources = [texts[0] for texts in TEXTS]
    settings = SurveySettings(kind="encoder", passages=False)
    agrees(parts["encoder"], survey(sources, model, settings, progress=False))


@pytest.mark.parametrize("study", RUNS)
@pytest.mark.slow
def test_other_studies_of_all_kinds(study):
    run, settings = RUNS[study]
    model = FAMILIES["m2m_100"].model()
    together = run(pairs(), model, settings(kind="all"), progress=False)
    alone = run(pairs(), model, settings(kind="cross"), progress=False)
    agrees(of_kind(together, "cross"), alone)
    assert set(tables(together)) == {
        f"{kind}-{name}" for kind in ("encoder", "decoder", "cross") for name in tables(alone)
    }


def agrees(part, alone):
    # Weights of slots that are the same for all cells of one kind are not so for all kinds.
    for name in map(str, alone.data_vars):
        estimates = [estimate_of(each, name) for each in (part, alone)]
        assert (estimates[0] is None) == (estimates[1] is None), name
        if estimates[0] is not None:
            ends, expected = (each.interval() for each in estimates)
            np.testing.assert_allclose(ends, expected, rtol=1e-3, atol=1e-4, err_msg=name)
    part, alone = (each.drop_dims("slot") for each in (part, alone))
    # Other processors round otherwise, which may change which of two has the higher rank.
    ranked = [name for name in alone.data_vars if "spearman" in str(name)]
    xarray.testing.assert_allclose(part[ranked], alone[ranked], atol=1e-3)
    part, alone = part.drop_vars(ranked), alone.drop_vars(ranked)
    xarray.testing.assert_allclose(part, alone, rtol=1e-4, atol=1e-5)
    assert {str(n): v.dtype for n, v in part.variables.items() if v.dtype.kind != "U"} == {
        str(n): v.dtype for n, v in alone.variables.items() if v.dtype.kind != "U"
    }
    said = ("kind", "category_names", "query_category_names", "sinks", "model", "stage")
    assert {n: part.attrs.get(n) for n in said} == {n: alone.attrs.get(n) for n in said}


@pytest.mark.slow
def test_all_kinds_are_kept_resumed_and_shown(tmp_path):
    model = FAMILIES["m2m_100"].model()
    attention = model.transformer.decoder.layers[1].encoder_attn
    attention.q_proj.weight.data[attention.head_dim :] *= 30  # a head that chooses among tokens
    settings = SurveySettings(kind="all")
    folder = RunFolder(path=tmp_path)
    result = survey(pairs(), model, settings, folder=folder, progress=False)
    again = survey(
        pairs(), model, settings, folder=RunFolder(path=tmp_path, resume=True), progress=False
    )
    xarray.testing.assert_identical(split_kinds(again)["cross"], split_kinds(result)["cross"])
    opened = headlight.open(tmp_path)
    for kind, part in split_kinds(result).items():
        xarray.testing.assert_identical(opened.headlight.of_kind(kind), part)
        xarray.testing.assert_identical(of_kind(opened.sel(kind=kind), kind), part)
    page = Page(result_page(opened))
    names = {str(e.attributes.get("id")) for e in page.all("g")}
    assert {"encoder-L0H3", "decoder-L1H1", "cross-L1H1"} <= names
    assert "L0H0" not in names
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    said = " ".join(e.text for tag in ("li", "a") for e in page.all(tag))
    assert "cross L1H1" in said
    assert "Head L" not in said
    assert {"encoder-heads", "cross-layers"} <= set(tables(opened))


@pytest.mark.slow
def test_contributions_are_those_of_one_kind():
    settings = SurveySettings(kind="all", measures=("attribution",))
    with pytest.raises(UsageError, match="contributions are those of one kind of attention at a"):
        survey(pairs(), FAMILIES["marian"].model(), settings, progress=False)


def test_all_kinds_of_a_model_that_reads_one_text():
    with pytest.raises(UsageError, match="all attention of marian needs two texts per example"):
        survey([SOURCE], FAMILIES["marian"].model(), SurveySettings(kind="all"), progress=False)


@pytest.mark.words
@pytest.mark.slow
def test_translations_are_read_from_any_of_their_files(tmp_path):
    from headlight_words.corpora import open_parallel

    model = FAMILIES["marian"].model()
    path = tmp_path / "pairs.txt"
    path.write_text("".join(f"{source} ||| {target}\n" for source, target in TEXTS))
    for kind in ("encoder", "cross"):
        settings = SurveySettings(kind=kind, format="translations")
        found = survey(path, model, settings, progress=False)
        opened = survey(open_parallel(path), model, SurveySettings(kind=kind), progress=False)
        xarray.testing.assert_equal(found, opened)
        # The encoder reads the sources alone, and not their translations.
        given = [texts[0] for texts in TEXTS] if kind == "encoder" else pairs()
        agrees(found, survey(given, model, SurveySettings(kind=kind), progress=False))


@pytest.mark.words
@pytest.mark.slow
def test_the_sample_of_a_translator_is_translations():
    model = FAMILIES["marian"].model()
    found = survey(None, model, SurveySettings(kind="cross"), progress=False)
    assert found.attrs["corpus"] == "the sample translations"
    assert int(found.attrs["examples"]) == 12


def test_translations_are_two_segments_already(tmp_path):
    settings = SurveySettings(kind="cross", format="translations", pairs=True)
    with pytest.raises(UsageError, match="translations are two segments already; leave out pairs"):
        survey(tmp_path / "x", FAMILIES["marian"].model(), settings, progress=False)
