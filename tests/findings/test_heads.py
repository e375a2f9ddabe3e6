"""Heads ranked by what they do, and what is said of it."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import headlight
from headlight.catalogue import behaviours, statistic, statistic_table
from headlight.catalogue.statistics import segment_rows
from headlight.cli.program import app
from headlight.errors import UnknownNameError, UsageError
from headlight.findings import head_scores, heads, highlights
from headlight.findings.interval_phrases import undecided
from headlight.findings.statistics import numbers_of
from headlight.result.estimate import with_ends
from headlight.studies.survey.study import run as survey
from headlight.vocabulary import CATEGORIES, head_name
from studies.models import subject, texts


@pytest.fixture(scope="module")
def result():
    found = survey(texts(6, longest=14, seed=1), subject("llama"), progress=False)
    for name, low in (("weight", 0.4), ("norm", 0.2)):
        where = {"measure": name, "behaviour": "first"}
        for layer, share in ((1, low), (0, 0.25)):
            found["behaviour_share"].loc[{**where, "layer": layer}] = share
            of_class = {"measure": name, "key_class": "first", "query_category": "all"}
            found["class_share"].loc[{**of_class, "layer": layer}] = share
    where = {"measure": "norm", "behaviour": "induction", "layer": 1, "head": 2}
    found["behaviour_share"].loc[where] = 0.8
    return with_ends(found, "behaviour_share").pipe(_known_ends, where)


def _known_ends(found, where):
    """A survey of which the ends of intervals are known, and no blocks."""
    found = found.drop_vars(["behaviour_share_by_slot", "behaviour_share_slot_weights"])
    for end, by in (("low", -0.098), ("high", 0.098)):
        found[f"behaviour_share_{end}"].loc[where] = 0.8 + by
    return found


@pytest.mark.slow
def test_heads_are_ranked_with_intervals(result):
    table = headlight.heads(result, "induction", by="norm")
    assert table.loc[0, ["layer", "head", "norm"]].tolist() == [1, 2, 0.8]
    assert table.loc[0, ["norm_low", "norm_high"]].tolist() == pytest.approx([0.702, 0.898])
    assert len(table) == 8
    assert table["norm"].is_monotonic_decreasing
    high = result["behaviour_share_high"].sel(measure="weight", behaviour="induction")
    row = table.loc[3]
    wanted = float(high.sel(layer=row["layer"], head=row["head"]))
    assert row["weight_high"] == pytest.approx(wanted, nan_ok=True)


@pytest.mark.slow
def test_everything_that_a_survey_counts_ranks_heads(result):
    unknown = {"copy_far", "subword"}  # no text is so long, no word has pieces
    unknown |= {"next", "gate", "gate_closed"}  # under a mask; it has no gates
    unknown |= {"output_rank", "sink_loss"}  # it was not asked for sinks
    unknown |= set(segment_rows())  # it read no chats
    for name in set(head_scores()) - unknown - set(CATEGORIES):
        assert len(heads(result, name)) == 8, name
    sinks, firsts = heads(result, "sink"), heads(result, "first")
    assert sinks.equals(firsts)
    rest = heads(result, "previous", without_first=True)
    expected = result["relative_rest"].sel(measure="weight", relative=-1).max()
    assert rest["weight"][0] == pytest.approx(float(expected))
    assert set(heads(result, "no_op").columns[2:]) == {"value", "value_low", "value_high"}
    assert set(behaviours()) <= set(head_scores())


def test_what_cannot_rank_heads_is_said(result):
    with pytest.raises(UnknownNameError, match=r"'inducton'\. Did you mean 'induction'"):
        heads(result, "inducton")
    with pytest.raises(UsageError, match="does not say how much heads do 'copy_far'"):
        heads(result, "copy_far")
    with pytest.raises(UsageError, match="'copy' without the first token"):
        heads(result, "copy", without_first=True)
    with pytest.raises(UnknownNameError, match="measure"):
        heads(result, "induction", by="gradient")


@pytest.mark.slow
def test_the_command_says_the_same(result, tmp_path):
    survey(texts(6, longest=14, seed=1), subject("llama"), progress=False).to_netcdf(
        tmp_path / "result.nc"
    )
    again = headlight.open(tmp_path / "result.nc")
    shown = CliRunner().invoke(app, ["heads", str(tmp_path), "previous", "--json"])
    rows = json.loads(shown.stdout)
    table = heads(again, "previous")
    assert [(row["layer"], row["head"]) for row in rows] == [
        *zip(table["layer"], table["head"], strict=True)
    ]
    np.testing.assert_allclose([row["weight"] for row in rows], table["weight"])
    unnamed = CliRunner().invoke(app, ["heads", str(tmp_path)])
    assert unnamed.exit_code == 0
    listed = [line.split(":")[0].split(",")[0].strip() for line in unnamed.stdout.splitlines()]
    assert listed[1:] == again.headlight.heads()["behaviour"].tolist()
    drawn = CliRunner().invoke(app, ["heads", str(tmp_path), "previous", "--top", "1"]).stdout
    assert f"L{rows[0]['layer']}H{rows[0]['head']}" in drawn
    numbers = numbers_of(again, statistic("previous"), "weight")
    every = [head_name(*at) for at in np.ndindex(numbers.value.shape)]
    inconclusive = undecided(numbers, every, "which is first")
    assert inconclusive
    assert " ".join(drawn.split()).endswith(inconclusive)


@pytest.mark.slow
def test_without_a_behaviour_those_of_the_result_are_listed(result):
    listed = result.headlight.heads()
    names = listed["behaviour"].tolist()
    for row in statistic_table():
        if row.name in names:
            assert len(heads(result, row.name)) == 8
        else:
            with pytest.raises(UsageError):
                heads(result, row.name)
    assert {"first", "previous"} <= {*names}
    assert not {"gate", "copy_far", "user", "cls"} & {*names}
    assert listed.set_index("behaviour").loc["first", ["also", "meaning"]].tolist() == [
        *("sink", "to the first token")
    ]
    with pytest.raises(UnknownNameError) as refused:
        heads(result, "inducton")
    known = {
        name for row in statistic_table() if row.name in names for name in (row.name, *row.also)
    }
    assert {*str(refused.value).partition("Known: ")[2].rstrip(".").split(", ")} == known


def test_a_decoder_begins_with_what_its_first_token_gets(result):
    first, *others = highlights(result)
    share = result["class_share"].sel(measure="weight", query_category="all", key_class="first")
    share = share.mean()
    assert f"{round(100 * float(share))}% of the weight (95%:" in first.text
    heads_of = r"in 0 \(\d inconclusive\) by weight and 0 \(\d inconclusive\) by norm of 8 heads"
    assert re.search(heads_of, first.text)
    (induction,) = (each for each in others if each.kind == "induction")
    assert induction.text.startswith("Head L1H2 gives 80% of its norm (95%: 70% to 90%) and ")
    assert (induction.layer, induction.head, induction.question) == (1, 2, "induction")
    encoder = result.assign_attrs(kind="encoder")
    assert "first token" not in {each.kind for each in highlights(encoder)}
