"""What pages of heads are given: numbers of the result, passages and texts at deciles."""

import numpy as np
import pytest

import headlight
from headlight.catalogue import statistic_table
from headlight.findings.statistics import row_label
from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from study_runs import HEADS, StudyRuns
from views.sample_results import survey_sample

LABELS = {row.name: row_label(survey_sample(1, 1), row) for row in statistic_table()}


@pytest.fixture(scope="module")
def survey(study_runs: StudyRuns):
    """Of a model whose layers differ in heads."""
    return study_runs.result("survey")


@pytest.mark.slow
def test_the_heads_are_those_that_there_are(survey):
    assert set(head_places(survey)) == HEADS
    found = all_heads(survey)
    assert found["names"] == ["L1H0", "L1H1", "L3H0"]
    assert found["layers"] == [1, 1, 3]


def test_numbers_and_intervals_are_those_by_which_heads_are_ranked(survey):
    found = {each["name"]: each["by"] for each in all_heads(survey)["statistics"]}
    places = head_places(survey)
    for behaviour in ("previous", "duplicate", "sep", "second"):
        table = headlight.heads(survey, behaviour).set_index(["layer", "head"]).loc[places]
        for measure in ("weight", "norm", "effective"):
            for end, values in zip(("", "_low", "_high"), found[behaviour][measure], strict=True):
                told = np.array(values, dtype=float)
                np.testing.assert_allclose(told, table[f"{measure}{end}"], rtol=1e-3, atol=1e-9)
    entropy = survey["entropy"].sel(measure="norm", query_category="all")
    wanted = [float(entropy.sel(layer=layer, head=head)) for layer, head in places]
    assert found["entropy"]["norm"][0] == pytest.approx(wanted, rel=1e-3)


def test_a_survey_without_anything_more_has_pages_as_well():
    result = survey_sample(2, 3, pruned=True)
    found = all_heads(result)
    assert len(found["names"]) == len(head_places(result)) < 6
    assert {"sep", "entropy", "rank"} <= {each["name"] for each in found["statistics"]}
    detail = HeadDetails(result).describe(*head_places(result)[0])
    assert detail["passages"] == []
    assert all(rows == [] for rows in detail["deciles"].values())


def test_texts_at_deciles_are_the_words_of_the_result(survey):
    texts = all_heads(survey)["texts"][0]
    words = dict(zip(survey["token"].values.tolist(), survey["token_text"].values, strict=True))
    layer, head = head_places(survey)[1]
    here = survey.sel(layer=layer, head=head, measure="norm")
    rows = HeadDetails(survey).describe(layer, head)["deciles"]["norm"]
    assert [row[0] for row in rows] == survey["decile"].values.tolist()[::-1]
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    for decile, score, text, query, places, values in rows:
        one = here.sel(decile=decile)
        assert score == pytest.approx(float(one["decile_score"]), rel=1e-3)
        assert (text, query) == (int(one["decile_text"]), int(one["decile_query"]))
        assert values == pytest.approx(one["decile_value"].values[: len(places)], rel=1e-3)
        numbers = survey["drawn_key"].values[text]
        for place in places:
            assert texts[text][place].strip() in words[int(numbers[place])]


def test_the_passages_are_of_what_the_head_does_more_than_others(survey):
    scores = survey["passage_score"]
    for layer, head in head_places(survey):
        own = scores.sel(layer=layer, head=head)
        own_rows = survey["passage_weight"].sel(layer=layer, head=head)
        above = {
            LABELS.get(str(does), str(does)): int(
                (scores.sel(does=does) > own.sel(does=does)).sum()
            )
            for does in survey["does"].values
            if np.isfinite(own.sel(does=does)) and float(own.sel(does=does)) != 0
        }
        rows = {
            LABELS.get(str(does), str(does)): own_rows.sel(does=does).values.tobytes()
            for does in survey["does"].values
        }
        shown = [each["does"] for each in HeadDetails(survey).describe(layer, head)["passages"]]
        assert len({rows[does] for does in shown}) == len(shown) == 3
        seen_rows = {rows[does] for does in shown}
        assert max(above[does] for does in shown) <= min(
            (rank for does, rank in above.items() if rows[does] not in seen_rows), default=99
        )
