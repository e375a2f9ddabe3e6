"""Alternatives of single rows: by hand, and by what they must keep."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies

from headlight.measures.alternatives import (
    RowAlternatives,
    column_basis,
    largest_step,
    null_basis,
    total_variation,
)

LINE = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
"""[T, 1] of three tokens whose values are 1, 2 and 3: LN([T, 1]) is spanned by (1, −2, 1)."""


def of(row: list[float]) -> RowAlternatives:
    return RowAlternatives(np.array(row), column_basis(LINE, 2))


def random_row(keys: int, size: int, zeros: int, seed: int) -> tuple[RowAlternatives, np.ndarray]:
    generator = np.random.default_rng(seed)
    columns = np.hstack([generator.standard_normal((keys, size)), np.ones((keys, 1))])
    row = generator.dirichlet(np.full(keys, 0.3)).clip(1e-6)
    row[generator.permutation(keys)[:zeros]] = 0.0
    row /= row.sum()
    return RowAlternatives(row, column_basis(columns, size + 1)), columns


def test_the_largest_step_ends_where_the_first_weight_vanishes() -> None:
    row = np.array([0.5, 0.3, 0.2])
    assert largest_step(row, np.array([1.0, -2.0, 1.0])) == pytest.approx(0.15)
    assert largest_step(row, np.array([-1.0, 2.0, -1.0])) == pytest.approx(0.2)
    assert largest_step(row, np.zeros(3)) == 0.0


def test_a_random_direction_is_one_of_the_two_that_there_are() -> None:
    """To (.65, 0, .35), or to (.3, .7, 0)."""
    row = of([0.5, 0.3, 0.2])
    ends = [row.random(np.random.default_rng(seed)) for seed in range(8)]
    expected = [np.array([0.15, -0.3, 0.15]), np.array([-0.2, 0.4, -0.2])]
    for end in ends:
        assert min(np.abs(end - one).max() for one in expected) < 1e-12
    assert {bool(end[1] > 0) for end in ends} == {True, False}


def test_the_farthest_is_the_farther_of_the_two_ends() -> None:
    row = of([0.5, 0.3, 0.2])
    (first, *_) = row.farthest(np.random.default_rng(0), starts=4)
    np.testing.assert_allclose(first, [-0.2, 0.4, -0.2], atol=1e-9)
    assert total_variation(first) == pytest.approx(0.4)
    assert row.bound(tight=True) == pytest.approx(0.4)
    assert row.bound() >= row.bound(tight=True)


@pytest.mark.parametrize("row", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_all_weight_on_an_outer_token_has_no_alternative(row: list[float]) -> None:
    """No other mean of 1, 2 and 3 is 1, or 3."""
    alone = of(row)
    assert not alone.exist
    assert not alone.random(np.random.default_rng(0)).any()
    assert not np.any(alone.farthest(np.random.default_rng(0), 3))
    assert not np.any(alone.corner())
    assert alone.bound() == 0.0


def test_all_weight_on_the_token_between_has_one() -> None:
    """(0, 1, 0) may become (.5, 0, .5): the one negative entry of ã is where all weight is."""
    between = of([0.0, 1.0, 0.0])
    assert between.exist
    for change in (
        between.random(np.random.default_rng(0)),
        between.farthest(np.random.default_rng(0), 2)[0],
    ):
        np.testing.assert_allclose(change, [0.5, -1.0, 0.5], atol=1e-9)


def test_where_all_rows_are_independent_there_is_no_alternative() -> None:
    columns = np.hstack([np.random.default_rng(0).standard_normal((4, 3)), np.ones((4, 1))])
    row = RowAlternatives(np.full(4, 0.25), column_basis(columns, 4))
    assert not row.exist
    assert null_basis(row.basis).shape == (4, 0)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    keys=strategies.integers(2, 12),
    size=strategies.integers(1, 5),
    zeros=strategies.integers(0, 4),
    seed=strategies.integers(0, 100),
)
def test_alternatives_stay_in_the_simplex_and_put_out_the_same(
    keys: int, size: int, zeros: int, seed: int
) -> None:
    row, columns = random_row(keys, size, min(zeros, keys - 1), seed)
    generator = np.random.default_rng(seed)
    changes = [row.random(generator), *row.farthest(generator, 2), row.corner()]
    bounds = [row.bound(), row.bound(tight=True)]
    for change in changes:
        changed = row.row + change
        assert changed.min() >= -1e-9
        assert changed.sum() == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(changed @ columns, row.row @ columns, atol=1e-8)
        assert total_variation(change) <= min(bounds) + 1e-6
    assert bounds[1] <= bounds[0] + 1e-6
    if not row.exist:
        assert not np.any(changes)
    else:
        assert total_variation(changes[1]) > 0
        climbed = row.farthest(generator, 1)[0]
        assert total_variation(row.corner()) <= total_variation(climbed) + 1e-8
    if not zeros and keys > size + 1:
        assert row.exist


@pytest.mark.slow
@given(seed=strategies.integers(0, 60))
@settings(max_examples=15)
def test_whether_there_is_an_alternative_is_known_from_all_corners(seed: int) -> None:
    """Against the least and greatest weight that every key can have."""
    row, _ = random_row(6, 3, zeros=3, seed=seed)
    lowest, highest = row._ranges()
    room = float((highest - lowest).max())
    assume(not 1e-9 < room < 1e-6)
    assert row.exist == (room > 1e-7)


@pytest.mark.slow
def test_the_farthest_of_a_small_row_is_nearly_the_farthest_of_all_its_corners() -> None:
    """Every corner is the solution for some objective; many random ones find them all."""
    for seed in range(3):
        row, _ = random_row(6, 2, 0, seed)
        generator = np.random.default_rng(seed)
        corners = [row._minimum(generator.standard_normal(6)) for _ in range(60)]
        wanted = max(total_variation(corner - row.row) for corner in corners)
        changes = row.farthest(generator, 8)
        found = [total_variation(change) for change in changes]
        assert found == sorted(found, reverse=True)
        assert 0.98 * wanted <= found[0] <= row.bound(tight=True) + 1e-8
