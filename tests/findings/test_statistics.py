"""The table of statistics: one label for each row, one number in surveys and in readings."""

import numpy as np
import pytest

from headlight.catalogue import statistic, statistic_table
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.errors import UnknownNameError, UsageError
from headlight.findings import heads, highlights
from headlight.findings.statistics import (
    OF_READING,
    applies,
    count_rows,
    measures_of,
    numbers_of,
    rests_on_few,
    row_label,
    say_rows,
    statistics_of,
)
from headlight.reading import read
from headlight.result.kinds import split_kinds
from headlight.studies.survey.study import run as survey
from headlight.views.head_grid import head_grid
from headlight.vocabulary import CATEGORIES
from studies.models import subject

SENTENCE = "The sea, a mill. The sea falls near the old town, the sea falls near a mill."


def of_text(family: str, *texts: str):
    model = subject(family)
    return model, survey(list(texts), model, progress=False)


def test_no_two_rows_have_one_name_or_one_label():
    rows = statistic_table()
    names = [name for row in rows for name in (row.name, *row.also)]
    assert len(set(names)) == len(names)
    _, result = of_text("llama", SENTENCE)
    for short in (False, True):
        labels = [row_label(result, row, short=short) for row in rows]
        assert len(set(labels)) == len(labels)
    assert statistic("sink") is statistic("first")
    with pytest.raises(UnknownNameError, match="Did you mean 'induction'"):
        statistic("inducton")
    assert all(row.help or row.category for row in rows)
    assert {row.follows for row in rows} - {""} <= {row.name for row in rows}


@pytest.mark.slow
def test_the_first_token_is_a_kind_of_key_of_a_decoder_and_others_are_without_it():
    model, result = of_text("llama", SENTENCE, "A river keeps sand, sand, sand. Mud is old.")
    share = result["class_share"]
    np.testing.assert_allclose(
        share.sel(measure=["weight", "norm"]).sum("key_class").values,
        result["share"].sel(measure=["weight", "norm"]).sum("key_category").values, atol=1e-6,
    )  # fmt: skip
    expected = definition(model, (SENTENCE, "A river keeps sand, sand, sand. Mud is old."))
    found = share.sel(measure="weight", query_category="all")
    found = found.transpose("layer", "head", "key_class").values
    np.testing.assert_allclose(found, expected, atol=1e-6)
    first = result["behaviour_share"].sel(behaviour="first", measure="weight")
    np.testing.assert_allclose(
        numbers_of(result, statistic("first"), "weight").value,
        first.transpose("layer", "head").values, atol=1e-6,
    )  # fmt: skip
    assert "class_share" not in of_text("bert", SENTENCE)[1]


def definition(model, texts) -> np.ndarray:
    """By loops: of each row what the first key gets, and each category of the others."""
    whole = []
    for text in texts:
        reading = read(model, text).dataset
        weights = reading["weight"].values
        layers, heads_of, queries, keys = weights.shape
        sums = np.zeros((layers, heads_of, len(KEY_CLASSES)))
        for key in range(keys):
            category = str(reading["key_category"].values[key])
            name = "first" if key == 0 else category
            for query in range(queries):
                sums[..., KEY_CLASSES.index(name)] += weights[:, :, query, key]
        whole.append(sums / queries)
    return np.mean(whole, axis=0)


@pytest.mark.slow
def test_what_cannot_be_is_no_row_of_a_decoder():
    _, result = of_text("llama", SENTENCE)
    names = [row.name for row, _ in statistics_of(result)]
    assert "next" not in names
    assert not applies(result, statistic("next"))
    grid = head_grid(result, highlights(result))
    about = next(each for each in highlights(result) if each.head is not None)
    assert grid.first == f"{about.question}.{about.measure}"
    assert "next" not in [name for name, _ in grid.questions]
    with pytest.raises(UsageError, match="'next'"):
        heads(result, "next")
    assert highlights(result)[0].kind == "first token"


def test_of_an_encoder_the_first_token_is_its_cls_and_stands_once():
    _, result = of_text("bert", SENTENCE)
    names = [row.name for row, _ in statistics_of(result)]
    assert "cls" in names
    assert "first" not in names
    assert "next" in names


@pytest.mark.slow
def test_rows_say_on_how_many_rows_of_attention_they_rest_and_few_are_not_ranked():
    _, result = of_text("llama", "The sea falls near a mill, the river.")
    row = statistic("induction")
    assert count_rows(result, row) == (1, 11)  # the second "the"; <s> stands before the text
    assert say_rows(result, row) == "1 of 11 rows"
    assert rests_on_few(result, row)
    with pytest.raises(UsageError, match="1 row of attention can do 'induction', and heads are"):
        heads(result, "induction")
    assert "induction" not in [name for name, _ in head_grid(result).questions]
    assert not {"induction", "duplicate"} & {each.kind for each in highlights(result)}
    assert say_rows(result, statistic("previous")) == "10 of 11 rows"
    assert say_rows(result, statistic("entropy")) == ""


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama", "bart"])
def test_a_reading_has_the_statistics_of_a_survey_of_its_text(family):
    model, result = of_text(family, SENTENCE)
    for kind, part in split_kinds(result).items():
        assert_same(part, read(model, SENTENCE, kind=kind).dataset)


def assert_same(result, reading):
    compared = 0
    for row, by in statistics_of(result):
        if row.name == "particular_tokens":  # which compares with a corpus
            continue
        for measure in by:
            here = numbers_of(reading, row, measure).value
            np.testing.assert_allclose(here, by[measure].value, atol=1e-6, err_msg=row.name)
            compared += 1
        assert count_rows(reading, row) == count_rows(result, row), row.name
    assert compared > 20


@pytest.mark.slow
def test_a_reading_keeps_the_heads_that_are_asked_for():
    model = subject("llama")
    whole, part = (read(model, SENTENCE, heads=heads).dataset for heads in (None, [1, 3]))
    np.testing.assert_array_equal(
        whole[OF_READING].sel(head=[1, 3]).values, part[OF_READING].values
    )
    assert measures_of(part, statistic("rank")) == [""]
    assert set(CATEGORIES) < set(KEY_CLASSES)
