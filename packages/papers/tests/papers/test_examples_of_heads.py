"""Which heads are picked as examples, on results made by hand."""

import numpy as np
import pytest

from findings.test_clusters import made, put
from headlight.studies.survey import SurveySettings, study as heads
from headlight_papers.papers.clark2019.figure_1_patterns import (
    ExampleHead,
    example_heads,
    what_it_does,
)
from studies.models import model, texts


def test_the_head_that_shows_a_pattern_most_is_its_example():
    result = made(layers=(3, 5))
    everyone = {"measure": "weight", "query_category": "all"}
    put(result, "entropy", 4.5, **everyone, layer=3, head=1)
    put(result, "neighbour", 0.9, measure="weight", offset=1, layer=5, head=0)
    put(result, "neighbour", 0.95, measure="weight", offset=-1, layer=5, head=1)
    put(result, "share", 0.7, **everyone, key_category="sep", layer=3, head=0)
    put(result, "share", 0.8, **everyone, key_category="punctuation", layer=5, head=1)
    put(result, "share", 0.99, measure="weight", query_category="sep", key_category="sep", layer=5)
    put(result, "share", 0.99, measure="norm", key_category="sep", layer=5)
    found = example_heads(result)
    assert list(found) == ["broad", "next", "sep", "punctuation"]
    assert found == {
        "broad": ExampleHead(3, 1, 4.5),
        "next": ExampleHead(5, 0, 0.9),
        "sep": ExampleHead(3, 0, 0.7),
        "punctuation": ExampleHead(5, 1, 0.8),
    }
    assert example_heads(result.sel(measure=["norm"]))["sep"] == ExampleHead(5, 0, 0.99)


def test_an_unclear_example_says_so_and_the_first_of_equals_is_taken():
    found = example_heads(made())
    assert {(one.layer, one.head) for one in found.values()} == {(0, 0)}
    assert not any(one.clear for one in found.values())
    assert found["next"].value == 0.2


def test_what_a_survey_does_not_know_of_has_no_example():
    result = made()
    result["neighbour"][:] = np.nan
    result["share"].loc[{"key_category": "sep"}] = 0.0
    result["share"].loc[{"layer": 0, "head": 0}] = np.nan  # a layer with fewer heads
    found = example_heads(result)
    assert list(found) == ["broad", "punctuation"]
    assert (found["punctuation"].layer, found["punctuation"].head) == (0, 1)


def test_examples_from_a_model():
    found = heads.run(texts(3), model("bert"), SurveySettings(measures=("norm",)), progress=False)
    for pattern, one in example_heads(found).items():
        if pattern == "sep":
            shares = found["share"].sel(query_category="all", key_category="sep", measure="norm")
            assert one.value == float(shares.max())
            assert one.value == float(shares.sel(layer=one.layer, head=one.head))


@pytest.mark.parametrize(
    ("pattern", "value", "clear", "said"),
    [
        ("sep", 0.82, True, "attends to [SEP]: 82%"),
        ("sep", 0.068, False, "most to [SEP] of all heads: 7%"),
        ("broad", 4.73, True, "attends broadly: 4.73 nats"),
        ("broad", 1.2, False, "broadest of all heads: 1.20 nats"),
    ],
)
def test_what_is_said_of_a_head_is_true_of_its_numbers(pattern, value, clear, said):
    assert what_it_does(pattern, ExampleHead(0, 0, value, clear)) == said
