"""Every accumulator against NumPy or a loop over all observations at once."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from hypothesis.extra.numpy import array_shapes, arrays

from headlight.reduce import Accumulator, Count, Grouped, Histogram, Moments, Pearson

EPSILON = np.finfo(np.float64).eps

missing = strategies.just(float("nan"))
halves = strategies.one_of(strategies.integers(-4, 6).map(lambda number: number / 2), missing)
whole = strategies.one_of(strategies.integers(0, 10**9).map(float), missing)
# Nothing so small that its square vanishes: NumPy's own correlation is NaN there too.
sizeable = strategies.floats(-1e6, 1e6).map(lambda number: number if abs(number) > 1e-100 else 0.0)
values = strategies.one_of(sizeable, missing)
observed = arrays(np.float64, array_shapes(min_dims=1, max_dims=3, max_side=6), elements=values)


def in_shards(made: Accumulator, *columns: np.ndarray) -> Accumulator:
    """Two updates of one accumulator, merged with a third part."""
    third = -(-len(columns[0]) // 3)
    last = made.empty()
    made.update(*(column[:third] for column in columns))
    made.update(*(column[third : 2 * third] for column in columns))
    last.update(*(column[2 * third :] for column in columns))
    return made.merge(last)


def by_entry(function, *columns: np.ndarray) -> np.ndarray:
    """`function` of the observations of each entry, those without a NaN in any column."""
    shape = columns[0].shape[1:]
    answer = np.full(shape, np.nan)
    for place in np.ndindex(*shape):
        series = [column[(slice(None), *place)] for column in columns]
        seen = ~np.isnan(np.sum(series, axis=0))
        if seen.any():
            answer[place] = function(*(one[seen] for one in series))
    return answer


@pytest.mark.slow
@settings(deadline=None)
@given(rows=observed, ddof=strategies.sampled_from([0, 1]))
def test_moments(rows: np.ndarray, ddof: int) -> None:
    found = in_shards(Moments(rows.shape[1:], ddof=ddof), rows).compute()

    def variance(series: np.ndarray) -> float:
        return np.var(series, ddof=ddof) if len(series) > ddof else np.nan

    scale = float(np.nanmax(np.abs(rows), initial=0))
    small = 16 * EPSILON * scale
    np.testing.assert_array_equal(found["count"], (~np.isnan(rows)).sum(axis=0))
    np.testing.assert_allclose(found["mean"], by_entry(np.mean, rows), rtol=1e-13, atol=small)
    np.testing.assert_allclose(
        found["variance"], by_entry(variance, rows), rtol=1e-12, atol=small * scale
    )
    np.testing.assert_allclose(found["std"] ** 2, found["variance"], rtol=1e-14)
    np.testing.assert_array_equal(found["minimum"], by_entry(np.min, rows))
    np.testing.assert_array_equal(found["maximum"], by_entry(np.max, rows))


@pytest.mark.parametrize("mean", [0.0, 1e6, -1e9])
def test_moments_of_a_large_mean_with_a_tiny_variance(mean: float) -> None:
    """The case in which a sum of squares would keep no digit: at 1e9 it would be off by 1e2."""
    rows = mean + np.random.default_rng(0).normal(0, 1e-3, (10_000, 2))
    exact = np.var(rows - mean, axis=0)  # the subtraction is exact: the numbers are neighbours
    merged = Moments((2,))
    for part in np.array_split(rows, 700):
        single = Moments((2,))
        single.update(part)
        merged = merged.merge(single)
    tolerance = 1e-12 + abs(mean) * EPSILON / 1e-3
    np.testing.assert_allclose(merged.compute()["variance"], exact, rtol=tolerance)


def test_moments_take_in_what_was_summarised_elsewhere() -> None:
    rows = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    one, two = Moments((3,)), Moments((3,))
    one.update(rows[:4])
    one.update(rows[4:])
    two.update(rows[:4])
    last = rows[4:].astype(np.float64)
    squares = ((last - last.mean(0)) ** 2).sum(0)
    two.absorb(3, last.mean(0), squares, last.min(0), last.max(0))
    for name, value in one.compute().items():
        np.testing.assert_allclose(two.compute()[name], value, rtol=1e-14)


@pytest.mark.slow
@settings(deadline=None)
@given(rows=observed, data=strategies.data())
def test_pearson(rows: np.ndarray, data: strategies.DataObject) -> None:
    generator = np.random.default_rng(data.draw(strategies.integers(0, 2**32)))
    other = 0.3 * rows + generator.normal(0, 1e5, rows.shape)
    other[generator.random(rows.shape) < 0.1] = np.nan
    found = in_shards(Pearson(rows.shape[1:]), rows, other).compute()
    np.testing.assert_array_equal(found["count"], (~np.isnan(rows + other)).sum(axis=0))
    expected = by_entry(correlation, rows, other)
    certain = by_entry(lambda one, two: float(np.ptp(one) > 1e-6 * np.abs(one).max()), rows, other)
    np.testing.assert_array_equal(
        np.isnan(found["correlation"])[certain == 1], np.isnan(expected)[certain == 1]
    )
    np.testing.assert_allclose(
        found["correlation"][certain == 1], expected[certain == 1], rtol=0, atol=1e-8
    )


def correlation(one: np.ndarray, two: np.ndarray) -> float:
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return np.nan
    return float(np.corrcoef(one, two)[0, 1])


def test_pearson_of_a_large_mean_with_a_tiny_variance() -> None:
    generator = np.random.default_rng(0)
    small = generator.normal(0, 1e-3, 5_000)
    other = small + generator.normal(0, 1e-3, 5_000)
    exact = np.corrcoef(small, other)[0, 1]
    found = in_shards(Pearson(), small + 1e7, other - 1e7).compute()
    np.testing.assert_allclose(found["correlation"], exact, atol=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9 / 3])
def test_pearson_with_a_constant_is_undefined(constant: float) -> None:
    generator = np.random.default_rng(0)
    pearson = Pearson()
    for length in (3, 7, 11):
        pearson.update(np.full(length, constant), generator.normal(size=length))
    assert np.isnan(pearson.compute()["correlation"])


@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_pearson_neither_overflows_nor_vanishes(scale: float) -> None:
    one = np.array([1.0, 2.0, 4.0])
    pearson = Pearson()
    pearson.update(one * scale, -one * scale)
    np.testing.assert_allclose(pearson.compute()["correlation"], -1, rtol=1e-12)


def test_pearson_takes_in_what_was_summarised_elsewhere() -> None:
    one, two = np.random.default_rng(0).normal(size=(2, 9))
    pearson = Pearson()
    pearson.update(one[:5], two[:5])
    rest = one[5:] - one[5:].mean(), two[5:] - two[5:].mean()
    sums = [(left * right).sum() for left, right in ((rest[0],) * 2, (rest[1],) * 2, rest)]
    pearson.absorb(4, np.mean(one[5:]), np.mean(two[5:]), *sums)
    np.testing.assert_allclose(pearson.compute()["correlation"], np.corrcoef(one, two)[0, 1])


@pytest.mark.slow
@settings(deadline=None)
@given(rows=arrays(np.float64, array_shapes(max_dims=3, max_side=6), elements=halves))
def test_histogram(rows: np.ndarray) -> None:
    edges = [-1.0, 0.0, 0.5, 2.0]
    found = in_shards(Histogram(edges, rows.shape[1:]), rows).compute()
    for place in np.ndindex(*rows.shape[1:]):
        series = rows[(slice(None), *place)]
        seen = series[~np.isnan(series)]
        counts = np.histogram(seen, edges)[0]
        np.testing.assert_array_equal(found["counts"][place], counts)
        assert found["below"][place] == (seen < -1).sum()
        assert found["above"][place] == (seen > 2).sum()
        share = counts / len(seen) if len(seen) else np.full(3, np.nan)
        np.testing.assert_allclose(found["share"][place], share)


@pytest.mark.parametrize("edges", [[1.0], [1.0, 1.0], [2.0, 1.0], [0.0, np.nan], [0.0, np.inf]])
def test_histogram_refuses_edges_that_do_not_increase(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="edges must be finite and increasing"):
        Histogram(edges)


@pytest.mark.slow
@settings(deadline=None)
@given(rows=arrays(np.float64, array_shapes(max_dims=3, max_side=6), elements=whole))
def test_count(rows: np.ndarray) -> None:
    found = in_shards(Count(rows.shape[1:]), rows).compute()
    np.testing.assert_array_equal(found["total"], np.nansum(rows, axis=0))


@pytest.mark.slow
@settings(deadline=None)
@given(rows=observed, data=strategies.data())
def test_grouped(rows: np.ndarray, data: strategies.DataObject) -> None:
    keys = data.draw(arrays(np.int64, len(rows), elements=strategies.integers(-3, 10**12)))
    found = in_shards(Grouped(Moments(rows.shape[1:])), keys, rows).compute()
    np.testing.assert_array_equal(found["key"], np.unique(keys))
    for place, key in enumerate(found["key"]):
        alone = Moments(rows.shape[1:])
        alone.update(rows[keys == key])
        for name, expected in alone.compute().items():
            scale = float(np.nanmax(np.abs(rows), initial=1))
            np.testing.assert_allclose(
                found[name][place], expected, rtol=1e-12, atol=16 * EPSILON * scale**2
            )


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_nothing_seen_is_nan_not_zero(shape: tuple[int, ...]) -> None:
    for made, statistics in (
        (Moments(shape), ("mean", "variance", "std", "minimum", "maximum")),
        (Pearson(shape), ("correlation",)),
        (Histogram([0.0, 1.0], shape), ("share",)),
    ):
        unseen = np.full((4, *shape), np.nan)
        for times in range(2):
            for name in statistics:
                assert np.isnan(made.compute()[name]).all(), (made, name, times)
            made.update(*([unseen, unseen] if isinstance(made, Pearson) else [unseen]))
    assert Grouped(Moments(shape)).compute()["mean"].shape == (0, *shape)


@pytest.mark.parametrize(
    ("made", "columns"),
    [
        (Moments((2,)), [np.zeros((3, 1))]),
        (Moments((2, 3)), [np.zeros((4, 3))]),
        (Moments(()), [np.array(1.0)]),
        (Histogram([0.0, 1.0], (2,)), [np.zeros(2)]),
        (Count((2,)), [np.zeros((3, 4))]),
        (Pearson((2,)), [np.zeros((3, 2)), np.zeros((3, 1))]),
        (Pearson(), [np.zeros(3), np.zeros(1)]),
        (Grouped(Moments()), [np.zeros(3, dtype=int), np.zeros(1)]),
    ],
    ids=repr,
)
def test_a_wrong_shape_is_refused_and_never_stretched(
    made: Accumulator, columns: list[np.ndarray]
) -> None:
    with pytest.raises(ValueError, match=r"needed|do not fit"):
        made.update(*columns)
