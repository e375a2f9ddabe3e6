"""The page of a text beside results over a corpus."""

import json

import numpy as np
import pytest
import xarray

from headlight.errors import UsageError
from headlight.findings import highlights
from headlight.views import reading_page
from headlight.views.reading.corpus_results import InCorpus
from headlight.vocabulary import head_name
from views.pages import Page
from views.sample_results import reading_sample, survey_sample


def header(reading, corpus):
    return json.loads(Page(reading_page(reading, corpus=corpus)).by_id("header").text)


def relations(layers=2, heads=3, stage="dependency"):
    accuracy = np.random.default_rng(1).random((1, layers, heads, 2, 3))
    count = np.array([30.0, 20.0, 3.0])
    return xarray.Dataset(
        {
            "accuracy": (("measure", "layer", "head", "direction", "relation"), accuracy),
            "count": (("relation",), count),
        },
        coords={
            "measure": ["weight"],
            "layer": range(layers),
            "head": range(heads),
            "direction": ["a", "b"],
            "relation": ["all", "nsubj", "rare"],
        },
        attrs={**reading_sample().attrs, "stage": stage, "kind": "encoder"},
    )


def test_numbers_of_the_survey_stand_beside_those_of_the_text():
    survey = survey_sample(4, 3)
    reading = reading_sample(2, 3).assign_coords(layer=[1, 3])
    found = header(reading, InCorpus(survey=survey, report="run/report.html"))
    part = found["kinds"]["encoder"]
    rows = {row["name"]: row for row in part["statistics"]}
    share = survey["share"].sel(query_category="all", key_category="sep")
    for name in ("weight", "norm"):
        expected = share.sel(measure=name, layer=[1, 3]).values
        numbers = rows["sep"]["corpus"][name][0]
        np.testing.assert_allclose(numbers, expected.ravel(), rtol=1e-3)
    entropy = survey["entropy"].sel(query_category="all", measure="weight", layer=[1, 3])
    numbers = rows["entropy"]["corpus"]["weight"][0]
    np.testing.assert_allclose(numbers, entropy.values.ravel(), rtol=1e-3)
    said = [sentence for each in part["findings"].values() for sentence in each]
    about_heads = [each for each in highlights(survey) if each.head is not None]
    assert sorted(said) == sorted(each.text for each in about_heads)
    assert part["findings"][head_name(about_heads[0].layer, about_heads[0].head)]
    assert found["report"] == "run/report.html"


def test_numbers_of_a_corpus_come_with_their_intervals():
    survey = survey_sample(2, 3)
    survey["share_low"], survey["share_high"] = survey["share"] - 0.0196, survey["share"] + 0.0196
    dependency = relations()
    dependency["low"], dependency["high"] = dependency["accuracy"] - 0.1, dependency["accuracy"] + 1
    found = header(reading_sample(2, 3), InCorpus(survey=survey, dependency=dependency))
    rows = {row["name"]: row for row in found["kinds"]["encoder"]["statistics"]}
    share, low, high = map(np.array, rows["sep"]["corpus"]["weight"])
    np.testing.assert_allclose(high, share + 0.0196, rtol=1e-3)
    np.testing.assert_allclose(low, np.maximum(share - 0.0196, 0), rtol=1e-3, atol=1e-4)
    assert len(rows["previous"]["corpus"]["weight"]) == 1  # of whose ends this survey says nothing
    of_all = rows["relation all"]
    value, low, high = map(np.array, of_all["by"]["weight"])
    np.testing.assert_allclose(low, np.maximum(value - 0.1, 0), atol=1e-3)
    np.testing.assert_allclose(high, np.ones_like(value))


def test_heads_are_found_by_the_relations_that_they_follow():
    result = relations()
    found = header(reading_sample(2, 3), InCorpus(dependency=result))
    rows = [row for row in found["kinds"]["encoder"]["statistics"] if row.get("relation")]
    assert [row["label"] for row in rows] == ["all", "nsubj"]  # the third has three words
    best = result["accuracy"].sel(measure="weight", relation="nsubj").max("direction")
    np.testing.assert_allclose(rows[1]["by"]["weight"][0], best.values.ravel(), rtol=1e-3)
    assert found["report"] == ""


def test_a_result_of_another_model_or_study_is_refused():
    other = survey_sample(2, 3).assign_attrs(revision="another")
    with pytest.raises(UsageError, match="another model"):
        reading_page(reading_sample(2, 3), corpus=InCorpus(survey=other))
    with pytest.raises(UsageError, match="one of dependency is needed"):
        reading_page(reading_sample(2, 3), corpus=InCorpus(dependency=survey_sample(2, 3)))


def test_without_a_corpus_nothing_is_said_of_one():
    found = header(reading_sample(), None)
    assert "report" not in found
    assert "findings" not in found["kinds"]["encoder"]
