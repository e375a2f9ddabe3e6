"""From counts to a result with intervals, and from a result to tables."""

from dataclasses import replace

import numpy as np
import pytest
import xarray

from headlight.analysis.positions import moments
from headlight.errors import UnknownNameError
from headlight.findings.dependency import all_heads, best_heads
from headlight.reduce import Bootstrap, Count, Tally, share_interval
from headlight.result import joined
from headlight.studies.dependency import DependencySettings
from headlight.studies.dependency.study import to_dataset
from studies.models import model

NAMES = ("root", "det", "punct", "amod", "never")
SITES = [
    replace(model("bert").sites[0], layer=layer, heads=heads) for layer, heads in ((3, 2), (5, 1))
]
SENTENCES = 40
OFFSETS = DependencySettings().offsets


def counts(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Of some sentences, in which the last relation never occurs and the second layer is short."""
    count = generator.integers(0, 4, (SENTENCES, 5))
    count[:, 4] = 0
    count[:, 2] += 4  # punctuation is the most frequent
    correct = generator.binomial(count[:, None, None, None, None], 0.6, (SENTENCES, 1, 2, 2, 2, 5))
    correct[:, :, 1, 1] = 0
    correct[..., 0] = 0
    offset = generator.binomial(count[:, None], 0.3, (SENTENCES, 6, 5))
    return {
        "correct": correct,
        "count": count,
        "offset": offset,
        "right_branching": offset[:, 4],
    }


def made(rows: dict[str, np.ndarray], measure: str = "weight", replicates: int = 100):
    keys = np.arange(SENTENCES)
    members = {}
    for name, values in rows.items():
        members[name] = Bootstrap(values.shape[1:], replicates=replicates)
        members[name].update(keys, values)
    shares = np.random.default_rng(1).random((SENTENCES, 1, 2, 2))
    shares[:, :, 1, 1] = np.nan  # a layer with one head
    parts = {"same_part": moments(shares), "same_part_even": moments(shares[:, 0, :, 0])}
    tally = Tally({**members, **parts, "sentences": Count((4,))})
    return to_dataset(tally, DependencySettings(), [measure], NAMES, SITES)


@pytest.fixture(scope="module")
def rows() -> dict[str, np.ndarray]:
    return counts(np.random.default_rng(0))


@pytest.fixture(scope="module")
def result(rows: dict[str, np.ndarray]) -> xarray.Dataset:
    return made(rows)


def test_axes_and_order(result: xarray.Dataset, rows: dict[str, np.ndarray]) -> None:
    total = rows["count"].sum(0)
    expected = sorted(range(4), key=lambda at: -total[at])
    assert list(result.relation.values) == ["all", *(NAMES[at] for at in expected)]
    assert result.relation.values[1] == "punct"
    assert list(result.layer.values) == [3, 5]
    assert list(result.direction.values) == ["dependent", "head"]
    assert list(result.offset.values) == [-3, -2, -1, 0, 1, 2]
    assert result.attrs == dict.fromkeys(("sentences", "words", "cut_words", "lost_words"), 0)
    assert all({"long_name", "units"} <= set(each.attrs) for each in result.data_vars.values())
    assert result.accuracy.dims == ("measure", "layer", "head", "direction", "relation")


def test_accuracies_are_shares_of_all_words(
    result: xarray.Dataset, rows: dict[str, np.ndarray]
) -> None:
    correct, count = rows["correct"].sum(0), rows["count"].sum(0)
    for at, name in enumerate(NAMES[:4]):
        chosen = result.sel(measure="weight", layer=3, relation=name)
        np.testing.assert_array_equal(chosen.correct, correct[0, 0, :, :, at])
        np.testing.assert_array_equal(chosen.accuracy, correct[0, 0, :, :, at] / count[at])
        assert chosen["count"] == count[at]
    chosen = result.sel(measure="weight", layer=3)
    np.testing.assert_allclose(
        chosen.accuracy.sel(relation="all"), correct[0, 0].sum(-1) / count.sum()
    )
    np.testing.assert_allclose(
        chosen.uas_without_punctuation,
        correct[0, 0][..., [0, 1, 3]].sum(-1) / count[[0, 1, 3]].sum(),
    )
    np.testing.assert_allclose(
        result.offset_accuracy.sel(relation="det"), rows["offset"].sum(0)[:, 1] / count[1]
    )
    np.testing.assert_allclose(
        result.right_branching.sel(relation="all"), rows["offset"].sum(0)[4].sum() / count.sum()
    )


def test_heads_that_a_layer_does_not_have_are_missing(result: xarray.Dataset) -> None:
    missing = result.sel(layer=5, head=1)
    for name in ("correct", "accuracy", "low", "high", "gain_low", "uas_without_punctuation"):
        assert missing[name].isnull().all()
        assert result[name].sel(layer=5, head=0).notnull().all()


def test_intervals_are_percentiles_of_the_resampled_accuracies(
    result: xarray.Dataset, rows: dict[str, np.ndarray]
) -> None:
    weights = Bootstrap((SENTENCES,), replicates=100)
    weights.update(np.arange(SENTENCES), np.eye(SENTENCES, dtype=int))
    taken = weights.compute()["replicates"]
    right = rows["correct"][:, 0, 0, 1, 0]
    for name, chosen in {"det": [1], "amod": [3], "all": [0, 1, 2, 3]}.items():
        shares = taken @ right[:, chosen].sum(1) / (taken @ rows["count"][:, chosen].sum(1))
        cell = result.sel(measure="weight", layer=3, head=1, direction="dependent", relation=name)
        np.testing.assert_allclose(
            [cell.low, cell.high], np.percentile(shares, [2.5, 97.5]), rtol=1e-12
        )
        # The best offset is that of the corpus, and it is right in the same resamples.
        best = rows["offset"][:, :, chosen].sum((0, 2)).argmax()
        of_best = taken @ rows["offset"][:, best, chosen].sum(1)
        gains = shares - of_best / (taken @ rows["count"][:, chosen].sum(1))
        np.testing.assert_allclose(
            [cell.gain_low, cell.gain_high],
            np.percentile(gains, [2.5, 97.5]),
            rtol=1e-12,
            atol=1e-15,
        )


def test_the_interval_of_a_single_instance_is_a_point() -> None:
    correct = np.array([[1.0], [0.0], [2.0], [1.0]])
    low, high = share_interval(correct, correct.copy())  # not drawn at all in the second resample
    assert (low.item(), high.item()) == (1.0, 1.0)
    low, high = share_interval(np.zeros((4, 1)), np.zeros((4, 1)))
    assert np.isnan([low, high]).all()


def test_without_resampling_there_are_no_intervals(rows: dict[str, np.ndarray]) -> None:
    result = made(rows, replicates=0)
    assert result.low.isnull().all()
    assert result.accuracy.sel(layer=3).notnull().all()


def test_passes_are_joined_along_the_measures(rows: dict[str, np.ndarray]) -> None:
    one, two = made(rows), made(counts(np.random.default_rng(0)), "gradient")
    both = joined([one, two])
    assert list(both.measure.values) == ["weight", "gradient"]
    assert both["count"].dims == ("relation",)
    assert both.offset_accuracy.dims == ("offset", "relation")
    assert both.attrs == one.attrs
    np.testing.assert_array_equal(
        both.accuracy.sel(measure="gradient"), two.accuracy.sel(measure="gradient")
    )
    assert joined([one]) is one


class TestBestHeads:
    def test_each_row_is_the_largest_of_its_relation(self, result: xarray.Dataset) -> None:
        table = best_heads(result, "weight", min_count=1)
        assert list(table.relation) == [
            "all", *(name for name in result.relation.values[2:] if name != "root"),
        ]  # fmt: skip
        for row in table.itertuples():
            cells = result.accuracy.sel(measure="weight", relation=row.relation)
            assert row.accuracy == np.nanmax(cells)
            at = cells.sel(layer=row.layer, head=row.head, direction=row.direction)
            assert row.accuracy == at
            offsets = result.offset_accuracy.sel(relation=row.relation)
            assert row.baseline == offsets.max() == offsets.sel(offset=row.offset)
            assert row.low <= row.accuracy <= row.high
            assert row.gain_low <= row.gain <= row.gain_high
            assert row.gain == row.accuracy - row.baseline
            assert row.count == result["count"].sel(relation=row.relation)

    def test_rare_relations_are_left_out(self, result: xarray.Dataset) -> None:
        least = int(result["count"].sel(relation="det"))
        assert "det" in set(best_heads(result, "weight", min_count=least).relation)
        assert "det" not in set(best_heads(result, "weight", min_count=least + 1).relation)

    def test_of_equal_heads_the_first_counts(self, result: xarray.Dataset) -> None:
        same = result.copy()
        same["accuracy"] = xarray.full_like(result.accuracy, 0.5)
        row = best_heads(same, "weight", min_count=1).iloc[0]
        assert (row.layer, row["head"], row.direction) == (3, 0, "dependent")

    def test_of_the_axes_whose_order_does_not_matter(self, result: xarray.Dataset) -> None:
        turned = result.transpose("relation", "direction", "head", "layer", "measure", "offset")
        expected = best_heads(result, "weight", min_count=1)
        assert best_heads(turned, "weight", min_count=1).equals(expected)

    def test_an_unknown_measure_is_refused(self, result: xarray.Dataset) -> None:
        with pytest.raises(UnknownNameError, match=r"no measure is called 'nrom'.*Known: weight"):
            best_heads(result, "nrom")


class TestAllHeads:
    def test_every_head_that_there_is_once(self, result: xarray.Dataset) -> None:
        table = all_heads(result, "weight")
        assert len(table) == 5 * 3 * 2
        assert list(dict.fromkeys(table.relation)) == list(result.relation.values)
        for _, group in table.groupby("relation"):
            assert group.accuracy.is_monotonic_decreasing
        for row in table.itertuples():
            cell = result.sel(
                measure="weight", relation=row.relation, layer=row.layer, head=row.head,
                direction=row.direction,
            )  # fmt: skip
            assert (row.accuracy, row.low, row.high, row.count) == (
                cell.accuracy, cell.low, cell.high, cell["count"],
            )  # fmt: skip

    def test_of_one_relation(self, result: xarray.Dataset) -> None:
        table = all_heads(result, "weight", relation="det")
        assert set(table.relation) == {"det"}
        assert len(table) == 6
        with pytest.raises(UnknownNameError, match="no relation is called 'dat'"):
            all_heads(result, "weight", relation="dat")

    def test_frequent_enough(self, result: xarray.Dataset) -> None:
        least = int(result["count"].sel(relation="punct"))
        assert set(all_heads(result, "weight", min_count=least).relation) == {"all", "punct"}
