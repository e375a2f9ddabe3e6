"""From counts to a result with intervals, and from a result to tables."""

from dataclasses import replace

import numpy as np
import pytest
import xarray

from headlight.errors import UnknownNameError
from headlight.findings.estimates import estimates
from headlight.observations.layer_arrays import moments
from headlight.reduce import Count, Slots, Tally
from headlight.reduce.jackknife import deviations
from headlight.result import joined
from headlight_words.findings.dependency import all_heads, best_heads, gains
from headlight_words.studies.dependency import DependencySettings
from headlight_words.studies.dependency.study import to_dataset
from studies.intervals import agrees
from studies.models import model

NAMES = ("root", "det", "punct", "amod", "never")
SITES = [
    replace(model("bert").sites[0], layer=layer, heads=heads) for layer, heads in ((3, 2), (5, 1))
]
SENTENCES = 30
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


def made(rows: dict[str, np.ndarray], measure: str = "weight"):
    units = np.arange(SENTENCES)
    count = rows["count"]
    shares = np.random.default_rng(1).random((SENTENCES, 1, 2, 2))
    shares[:, :, 1, 1] = np.nan  # a layer with one head
    members = {
        "correct": Slots.of(units, rows["correct"], count[:, None, None, None, None]),
        "offset": Slots.of(units, rows["offset"], count[:, None]),
        "right_branching": Slots.of(units, rows["right_branching"], count),
        "same_part": moments(shares),
        "same_part_slots": Slots.of(units, shares),
        "same_part_even": moments(shares[:, 0, :, 0]),
        "sentences": Count((4,)),
    }
    return to_dataset(Tally(members), DependencySettings(), [measure], NAMES, SITES)


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
    for name in ("correct", "accuracy", "uas_without_punctuation"):
        assert missing[name].isnull().all()
        assert result[name].sel(layer=5, head=0).notnull().all()
    assert missing["accuracy_by_slot"].isnull().all()
    assert result["accuracy_by_slot"].sel(layer=5, head=0).isel(slot=0).notnull().any()


def test_intervals_are_of_corpora_without_a_sentence(
    result: xarray.Dataset, rows: dict[str, np.ndarray]
) -> None:
    cells = result.sel(measure="weight", layer=3, head=1, direction="dependent")
    right = rows["correct"][:, 0, 0, 1, 0]
    for name, chosen in {"det": [1], "amod": [3], "all": [0, 1, 2, 3]}.items():
        count, cell = rows["count"][:, chosen].sum(1), cells.sel(relation=name)
        agrees(cell, "accuracy", right[:, chosen].sum(1), count)
        # The best offset is that of the corpus, and it is right in the same sentences.
        best = rows["offset"][:, :, chosen].sum((0, 2)).argmax()
        of_best = rows["offset"][:, best, chosen].sum(1)
        agrees(result.sel(relation=name).isel(offset=best), "offset_accuracy", of_best, count)
        gain = gains(result.sel(relation=name, measure="weight")).at((0, 1, 0))
        beyond = Slots.of(np.arange(SENTENCES), right[:, chosen].sum(1) - of_best, count).compute()
        moved, _ = deviations(beyond["mean"], beyond["without"], beyond["whole"])
        assert float(gain.error) == pytest.approx(np.sqrt((moved**2).sum()), rel=1e-4)
    parts = result.isel(measure=0, layer=0)
    shares = np.random.default_rng(1).random((SENTENCES, 1, 2, 2))[:, 0, 0]
    agrees(parts, "same_part", shares, np.ones_like(shares))


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
            gain = gains(result.sel(measure="weight", relation=row.relation))
            ends = [each[gain.first()] for each in gain.interval()]
            # They hold for all heads, and so are wider than those of one.
            assert row.gain_low < ends[0] < row.gain < ends[1] < row.gain_high
            assert row.gain == row.accuracy - row.baseline
            assert row.cross_fit <= row.accuracy
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
        axes = ("relation", "direction", "head", "layer", "measure", "offset", ...)
        turned = result.transpose(*axes)
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
            number = estimates(cell, "accuracy", ())
            assert (row.accuracy, row.count) == (cell.accuracy, cell["count"])
            np.testing.assert_allclose([row.low, row.high], [number.low, number.high])

    def test_of_one_relation(self, result: xarray.Dataset) -> None:
        table = all_heads(result, "weight", relation="det")
        assert set(table.relation) == {"det"}
        assert len(table) == 6
        with pytest.raises(UnknownNameError, match="no relation is called 'dat'"):
            all_heads(result, "weight", relation="dat")

    def test_frequent_enough(self, result: xarray.Dataset) -> None:
        least = int(result["count"].sel(relation="punct"))
        assert set(all_heads(result, "weight", min_count=least).relation) == {"all", "punct"}
