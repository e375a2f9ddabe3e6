"""Intervals against numpy and scipy, and what is left out of them."""

import numpy as np
import pytest
from scipy.stats import t as student

from headlight.reduce.jackknife import deviations
from headlight_papers.intervals import mean_interval, student as t_interval


@pytest.mark.parametrize("count", [2, 3, 30])
def test_the_interval_of_a_mean_is_that_of_student(count: int) -> None:
    values = np.random.default_rng(count).random(count)
    found = mean_interval(values)
    error = values.std(ddof=1) / count**0.5
    low, high = student.interval(0.95, count - 1, values.mean(), error)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))


@pytest.mark.parametrize("sizes", [(5, 36), (1, 10_000), (7, 7, 7), (1, 1, 1, 500)])
def test_an_interval_over_few_texts_is_missing(sizes: tuple[int, ...]) -> None:
    whole = np.array(sizes, dtype=np.float64)
    without = np.arange(len(sizes), dtype=np.float64)
    moved, freedom = deviations(np.array(1.0), without, whole)
    error = np.asarray(np.sqrt((moved**2).sum(0)))
    assert np.isnan(t_interval(np.array(1.0), error, freedom)).all()


def test_an_interval_begins_at_three_degrees_of_freedom() -> None:
    mean, error = np.zeros(3), np.ones(3)
    low, high = t_interval(mean, error, np.array([2.999, 3.0, 4.0]))
    assert np.isnan([low[0], high[0]]).all()
    assert list(high[1:]) == pytest.approx(list(student.ppf(0.975, [3, 4])))


def test_seeds_and_folds_need_two() -> None:
    assert mean_interval([1.0, 2.0]).half == pytest.approx(student.ppf(0.975, 1) / 2)
    low, _ = t_interval(np.zeros(1), np.ones(1), np.ones(1), least=1)
    assert low == pytest.approx(student.ppf(0.025, 1))
