"""Intervals that are computed from what blocks move, against corpora without these blocks."""

import numpy as np
import pytest
import xarray
from hypothesis import given, settings, strategies
from scipy import stats

import headlight.views.accessor  # noqa: F401 - results have intervals of their own
from headlight.observations.variables import with_slots
from headlight.reduce import Slots
from headlight.result import describe, load, save
from headlight.result.estimate import Estimate, estimate_of, slot_coordinates, with_ends
from headlight.result.kinds import concat_kinds, split_kinds
from headlight.result.passes import joined

SCALES = ("share", "correlation", "positive", "signed")


def result_of(
    part: np.ndarray, whole: np.ndarray | None = None, units=None, scale: str = "signed"
) -> xarray.Dataset:
    """A result with one number, `ratio`, over axes that are called after their places."""
    sums = Slots.of(np.arange(len(part)) if units is None else units, part, whole).compute()
    dims = tuple(f"axis_{n}" for n in range(part.ndim - 1))
    made = xarray.Dataset(with_slots("ratio", dims, sums["mean"], sums))
    made = made.set_coords([name for name in made if str(name) != "ratio"])
    return describe(made, {"ratio": ("a ratio", "1", scale)})


def estimate(*given, **options) -> Estimate:
    found = estimate_of(result_of(*given, **options), "ratio")
    assert found is not None
    return found


def by_definition(part: np.ndarray, whole: np.ndarray) -> tuple[float, float, float]:
    """Value, standard error and degrees of freedom, leaving out each block in a loop."""
    n = len(part)
    size = 1
    while (n - 1) // size >= 32:
        size *= 2
    blocks = [range(start, min(start + size, n)) for start in range(0, n, size)]
    value = sum(part) / sum(whole)
    shares = [sum(whole[i] for i in block) / sum(whole) for block in blocks]
    squares = 0.0
    for block, share in zip(blocks, shares, strict=True):
        rest = [i for i in range(n) if i not in block]
        without = sum(part[i] for i in rest) / sum(whole[i] for i in rest)
        squares += ((1 - share) * (without - value)) ** 2
    alike = sum(share**2 for share in shares)
    return value, float(np.sqrt(squares / (1 - alike))), 1 / alike - 1


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    units=strategies.integers(12, 90),
    seed=strategies.integers(0, 999),
    scale=strategies.sampled_from(SCALES),
    level=strategies.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_ends_are_those_of_the_definition(units: int, seed: int, scale: str, level: float) -> None:
    generator = np.random.default_rng(seed)
    whole = generator.uniform(1, 3, units)
    part = whole * generator.uniform(0.1, 0.8, units)
    value, error, freedom = by_definition(part, whole)
    t = stats.t.ppf((1 + level) / 2, freedom)
    if scale == "share":
        size, q = value * (1 - value) / error**2, t**2
        middle = (value + q / (2 * size)) / (1 + q / size)
        half = np.sqrt(value * (1 - value) * q / size + q**2 / (4 * size**2)) / (1 + q / size)
        ends = middle - half, middle + half
    elif scale == "correlation":
        z, half = np.arctanh(value), t * error / (1 - value**2)
        ends = np.tanh(z - half), np.tanh(z + half)
    elif scale == "positive":
        ends = value * np.exp(-t * error / value), value * np.exp(t * error / value)
    else:
        ends = value - t * error, value + t * error
    found = estimate(part, whole, scale=scale)
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_allclose(found.interval(level), ends, rtol=1e-5)
    np.testing.assert_allclose(found.p_value(), 2 * stats.t.sf(value / error, freedom), rtol=1e-4)


def test_there_is_no_interval_below_the_guards() -> None:
    rows = np.random.default_rng(0).uniform(0.2, 0.8, 12)
    assert np.isnan(estimate(rows[:4], scale="share").low)
    assert np.isfinite(estimate(rows[:5], scale="share").low)
    assert np.isnan(estimate(rows[:9], scale="positive").low)
    assert np.isfinite(estimate(rows[:10], scale="positive").low)
    weights = np.array([100.0, 1, 1, 1, 1, 1])
    assert np.isnan(estimate(rows[:6] * weights, weights, scale="share").low)  # nearly one text
    assert not estimate(rows[:4], scale="share").known


def test_a_share_of_none_or_all_texts_has_one_end() -> None:
    for units in (5, 40, 1000):
        none = estimate(np.zeros(units), scale="share")
        q = stats.t.ppf(0.975, none.freedom) ** 2
        np.testing.assert_allclose(none.interval(), (0, q / (units + q)), atol=1e-12)
        every = estimate(np.ones(units), scale="share")
        np.testing.assert_allclose(every.interval(), (1 - q / (units + q), 1), atol=1e-12)


def test_what_two_runs_over_the_same_texts_share_cancels() -> None:
    generator = np.random.default_rng(3)
    common = generator.normal(size=(200, 1))
    rows = common + 0.1 * generator.normal(size=(200, 2))
    one, two = estimate(rows[:, :1]), estimate(rows[:, 1:])
    paired, alone = one.minus(two), one.minus(two, paired=False)
    _, error, freedom = by_definition(rows[:, 0] - rows[:, 1], np.ones(200))
    np.testing.assert_allclose(paired.error[0], error, rtol=1e-4)
    np.testing.assert_allclose(paired.freedom[0], freedom, rtol=1e-4)
    np.testing.assert_allclose(alone.error, np.hypot(one.error, two.error))
    assert 40 < alone.freedom[0] < 60
    assert paired.error < 0.2 * alone.error
    np.testing.assert_allclose((paired.low, paired.high)[0], -one.minus(two).times(-1.0).high)


def test_of_runs_of_different_length_the_shorter_blocks_are_joined() -> None:
    rows = np.random.default_rng(4).normal(size=(200, 2))
    shorter, longer = estimate(rows[:50]), estimate(rows)
    found = longer.minus(shorter)
    joined = estimate(np.pad(rows[:50], ((0, 150), (0, 0)), constant_values=np.nan))
    np.testing.assert_allclose(found.error, longer.minus(joined).error, rtol=1e-4)
    np.testing.assert_allclose(found.freedom, joined.freedom, rtol=1e-5)
    assert (found.freedom < shorter.freedom).all()
    np.testing.assert_allclose(found.moved, -shorter.minus(longer).moved)


def test_differences_that_few_texts_make_are_open() -> None:
    rows = np.random.default_rng(5).normal(size=(64, 3)).round(3)
    other = rows.copy()
    other[:7, 1] += 0.5  # four blocks of two
    other[:, 2] += 0.5
    apart = estimate(other).minus(estimate(rows))
    assert np.isnan(apart.low[:2]).all()
    assert apart.p_value()[0] == 1  # no text differs
    assert np.isnan(apart.p_value()[1])


def test_means_are_those_of_the_mean_of_each_text() -> None:
    rows = np.random.default_rng(6).uniform(0.2, 0.7, (70, 3, 2))
    found, expected = estimate(rows, scale="share").mean(1), estimate(rows.mean(2), scale="share")
    np.testing.assert_allclose(found.interval(), expected.interval(), rtol=1e-5)
    whole, of_texts = estimate(rows, scale="share").mean(), estimate(rows.mean((1, 2)))
    np.testing.assert_allclose(whole.error, of_texts.error, rtol=1e-5)


@pytest.mark.slow
def test_ties_hold_the_largest_and_few_that_are_not() -> None:
    generator = np.random.default_rng(7)
    truth = np.array([0.6, 0.595, 0.3, 0.59, 0.2])
    held = named = 0
    for _ in range(100):
        common = generator.normal(0, 0.3, (80, 1))
        found = estimate(truth + common + generator.normal(0, 0.1, (80, 5)), scale="signed")
        ties = found.ties()
        assert ties[found.first()]
        held += ties[0]
        named += ties[[2, 4]].sum()
        assert found.first() not in found.rivals()
        assert {at for (at,) in found.rivals()} | {found.first()[0]} == set(np.flatnonzero(ties))
    assert held >= 90
    assert named == 0


def test_the_largest_is_not_taken_for_larger_than_it_is() -> None:
    generator = np.random.default_rng(8)
    naive, fair, held = [], [], 0
    for _ in range(150):
        found = estimate(generator.normal(0, 1, (64, 40)))
        best = found.largest()
        naive.append(found.value.max())
        fair.append(float(best.value))
        held += best.low <= 0 <= best.high
    assert np.mean(naive) > 0.2
    assert abs(np.mean(fair)) < 0.05
    assert held > 130


@pytest.mark.parametrize("scale", ["share", "positive"])
def test_ratios_that_are_equal_do_not_differ_whatever_they_are_shares_of(scale: str) -> None:
    """All texts have one ratio in both runs, so that what is left of a difference is rounding."""
    generator = np.random.default_rng(12)
    for ratio in (1 / 3, 0.1, 0.7):
        runs = []
        for longest in (50, 90):  # other tokenizers have other numbers of tokens
            whole = generator.integers(1, longest, (64, 5)).astype(float)
            runs.append(estimate(ratio * whole, whole, scale=scale))
        for paired in (True, False):
            apart = runs[0].minus(runs[1], paired=paired)
            np.testing.assert_array_equal(apart.p_value(), 1)
            assert set(apart.against(0.0)) == {"inconclusive"}
    same = runs[0].minus(runs[0])
    assert not same.differing.any()
    assert (same.p_value() == 1).all()


@pytest.mark.slow
def test_the_best_is_above_chance_in_few_corpora_without_a_better_one() -> None:
    generator = np.random.default_rng(13)
    naive = above = 0
    for _ in range(100):
        heads, baseline = generator.normal(0, 1, (64, 60)), generator.normal(0, 1, 64)
        gains = estimate(heads).minus(estimate(baseline))
        naive += str(gains.at(gains.first()).against(0.0)) == "above"
        above += str(gains.simultaneous(64).at(gains.first()).against(0.0)) == "above"
    assert naive > 20
    assert above < 12
    clear = estimate(generator.normal(1, 1, (64, 60))).minus(estimate(baseline))
    assert str(clear.simultaneous(64).at(clear.first()).against(0.0)) == "above"


def test_many_are_tested_at_once_from_20_units_and_16_slots_on() -> None:
    generator = np.random.default_rng(14)
    for units, tested in ((15, False), (19, False), (20, True), (60, True)):
        rows = generator.normal(0, 1, (units, 2))
        rows[15:, 1] = np.nan
        assert list(estimate(rows).testable) == [tested, False]


def test_numbers_of_several_shapes_are_joined() -> None:
    rows = np.random.default_rng(15).uniform(0.2, 0.7, (40, 3, 2))
    whole, one = estimate(rows, scale="share"), estimate(rows[:, 0, 0], scale="share")
    both = Estimate.joined([whole, one])
    np.testing.assert_array_equal(both.low, [*whole.low.ravel(), one.low])
    assert both.first() == (int(whole.value.argmax()),)
    ended = Estimate.joined([Estimate.with_ends(1.0, 0.5, 2.0), one])
    np.testing.assert_array_equal(ended.high, [2.0, one.high])


def test_results_keep_what_intervals_are_made_of(tmp_path) -> None:
    rows = np.random.default_rng(9).uniform(0.2, 0.7, (40, 3, 2))
    result = result_of(rows, scale="share").assign_coords(axis_0=["a", "b", "c"])
    result = result.assign_attrs(stage="test")
    assert list(result.data_vars) == ["ratio"]
    assert result["ratio_slot_weights"].dims == ("slot",)
    save(result, tmp_path / "result.nc")
    again = load(tmp_path / "result.nc")
    xarray.testing.assert_identical(again.drop_attrs(), result.drop_attrs())
    assert list(xarray.load_dataset(tmp_path / "result.nc").variables) == ["ratio", "axis_0"]
    group = xarray.load_dataset(tmp_path / "result.nc", group="slots", engine="h5netcdf")
    assert group["ratio_by_slot"].dims == ("slot", "axis_0", "axis_1")
    part = again.sel(axis_0="b")
    np.testing.assert_array_equal(
        estimate_of(part, "ratio").low, estimate(rows, scale="share").low[1]
    )
    named = estimate_of(part.expand_dims(text=["all"]), "ratio")
    np.testing.assert_array_equal(named.low[0], estimate_of(part, "ratio").low)
    ended = with_ends(again, "ratio", {"axis_0"})
    assert ended["ratio_low"].dims == ("axis_0",)
    interval = again.headlight.interval("ratio", 0.8)
    assert (interval["low"] > again.headlight.interval("ratio")["low"]).all()


def test_kinds_keep_theirs() -> None:
    generator = np.random.default_rng(10)
    parts = {kind: result_of(generator.uniform(0.2, 0.7, (n, 3)), scale="share")
             for kind, n in (("encoder", 40), ("decoder", 50))}  # fmt: skip
    joined = concat_kinds(parts)
    assert list(joined.data_vars) == ["ratio"]
    for kind, part in split_kinds(joined).items():
        assert sorted(slot_coordinates(part)) == sorted(slot_coordinates(parts[kind]))
        low = estimate_of(part, "ratio").low
        np.testing.assert_array_equal(low, estimate_of(parts[kind], "ratio").low)


@pytest.mark.parametrize("paired", [True, False])
def test_differences_of_results(paired: bool) -> None:
    generator = np.random.default_rng(11)
    rows = generator.uniform(0.2, 0.7, (60, 3))
    one, two = result_of(rows, scale="share"), result_of(rows**2, scale="share")
    one.attrs["text_digest"], two.attrs["text_digest"] = "1", "1" if paired else "2"
    found = one.headlight.difference(two, "ratio")
    apart = estimate_of(one, "ratio").minus(estimate_of(two, "ratio"), paired=paired)
    np.testing.assert_array_equal(found["low"], apart.low)
    np.testing.assert_array_equal(found["p_value"], apart.p_value())


def test_passes_of_which_blocks_hold_other_weights_are_joined() -> None:
    rows = np.random.default_rng(12).uniform(0.2, 0.7, (40, 1, 3))
    some = rows.copy()
    some[:8, :, 1] = np.nan
    parts = [
        result_of(each, scale="share").rename(axis_0="measure").assign_coords(measure=[name])
        for name, each in (("weight", rows), ("gradient", some))
    ]
    whole = joined(parts)
    for part in parts:
        one = whole.sel(measure=part["measure"].values)
        np.testing.assert_array_equal(estimate_of(one, "ratio").low, estimate_of(part, "ratio").low)


def test_blocks_that_differ_by_rounding_alone_have_no_interval() -> None:
    """What rounding leaves depends on the processor, and so would a verdict that rests on it."""
    chosen = np.random.default_rng(2)
    alike = 0.622 * (1 + 1e-7 * chosen.standard_normal(40))
    other = 0.631 * (1 + 1e-7 * chosen.standard_normal(40))
    numbers, others = (estimate(each, scale="share") for each in (alike, other))
    assert f"{numbers:.1%}" == "62.2%"
    assert numbers.low == numbers.high
    difference = numbers.minus(others)
    assert difference.low == difference.high
    apart = estimate(0.622 * (1 + 1e-4 * chosen.standard_normal(40)), scale="share")
    assert apart.low < apart.high
