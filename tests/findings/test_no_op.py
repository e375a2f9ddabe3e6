"""The report on heads that do nothing, against shares counted by hand."""

import numpy as np
import pandas
import pytest
import xarray

from headlight.findings.no_op_heads import no_op

CATEGORIES = ["cls", "sep", "punctuation", "other"]


def result(weight, norm, categories=CATEGORIES) -> xarray.Dataset:
    dims = ("measure", "layer", "head", "key_group")
    return xarray.Dataset(
        {"group_total": (dims, np.array([weight, norm]))},
        coords={
            "measure": ["weight", "norm"],
            "layer": [3, 7][: len(weight)],
            "head": list(range(len(weight[0]))),
            "key_group": categories,
        },
    )


def test_without_sinks_it_is_made_of_the_sums_of_any_survey():
    given = [[BUSY, IDLE]], [[NORM_OF_BUSY, NORM_OF_IDLE]]
    apart = result(*given)
    survey = apart.rename(group_total="total", key_group="key_category")
    survey = survey.expand_dims(query_category=["all"])
    pandas.testing.assert_frame_equal(no_op(survey), no_op(apart))


BUSY = [0.1, 0.1, 0.1, 0.7]
IDLE = [0.1, 0.6, 0.1, 0.2]
NORM_OF_BUSY = [1.0, 1.0, 1.0, 7.0]
NORM_OF_IDLE = [0.1, 0.2, 0.1, 1.6]


def test_shares_are_those_counted_by_hand_and_the_largest_loss_comes_first():
    table = no_op(result([[BUSY, IDLE]], [[NORM_OF_BUSY, NORM_OF_IDLE]]))
    idle, busy = table.to_dict("records")
    assert (idle["layer"], idle["head"], idle["target"], idle["no_op"]) == (3, 1, "sep", True)
    assert idle["weight_share"] == pytest.approx(0.8)
    assert idle["norm_share"] == pytest.approx(0.2)
    assert idle["ratio"] == pytest.approx(4.0)
    assert idle["lost"] == pytest.approx(0.6)
    assert (busy["layer"], busy["head"], busy["no_op"]) == (3, 0, False)
    assert busy["lost"] == pytest.approx(0.0)
    assert list(table.columns) == [
        "layer", "head", "weight_share", "norm_share", "ratio", "lost", "target", "no_op",
    ]  # fmt: skip


def test_what_counts_as_a_no_op_can_be_chosen():
    both = result([[BUSY, IDLE]], [[NORM_OF_BUSY, NORM_OF_IDLE]])
    assert not no_op(both, ratio=5.0)["no_op"].any()
    assert not no_op(both, weight=0.9)["no_op"].any()
    assert no_op(both, weight=0.3, ratio=0.9)["no_op"].all()
    only_cls = no_op(both, targets=("cls",))
    assert only_cls["weight_share"].tolist() == pytest.approx([0.1, 0.1])
    assert set(only_cls["target"]) == {"cls"}


def test_sinks_are_targets_where_the_result_has_them():
    table = no_op(result([[[0.1, 0.9]]], [[[3.0, 1.0]]], categories=["other", "sink"]))
    assert table["target"].tolist() == ["sink"]
    assert table["norm_share"].tolist() == pytest.approx([0.25])


def test_weight_and_norm_may_add_up_to_anything():
    doubled = [[[2 * each for each in IDLE]]]
    one = no_op(result([[IDLE]], [[NORM_OF_IDLE]]))
    other = no_op(result(doubled, [[[10 * each for each in NORM_OF_IDLE]]]))
    np.testing.assert_allclose(one["lost"], other["lost"])


def test_a_head_without_norms_has_no_share_and_a_missing_head_is_left_out():
    nothing, missing = [0.0] * 4, [np.nan] * 4
    table = no_op(
        result([[IDLE, IDLE], [BUSY, missing]], [[NORM_OF_IDLE, nothing], [NORM_OF_BUSY, missing]])
    )
    assert list(zip(table["layer"], table["head"], strict=True)) == [(3, 0), (7, 0), (3, 1)]
    last = table.iloc[-1]
    assert np.isnan(last["norm_share"])
    assert not last["no_op"]


def test_a_category_that_never_occurs_is_not_the_target():
    weight = [[[np.nan, 0.0, 0.4, 0.6]]]
    assert no_op(result(weight, [[[np.nan, 0.0, 1.0, 1.0]]]))["target"].tolist() == ["punctuation"]


def test_without_any_target_nothing_is_lost():
    table = no_op(result([[[1.0]]], [[[2.0]]], categories=["other"]))
    assert table["weight_share"].tolist() == [0.0]
    assert table["target"].tolist() == [""]
    assert not table["no_op"].any()
