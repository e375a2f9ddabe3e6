"""Rank correlation by a joint histogram against SciPy on all pairs."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import spearmanr

from headlight.reduce import RankCorrelation
from headlight.reduce.rank_correlation import ERROR, ROWS


def counted(first: np.ndarray, second: np.ndarray) -> RankCorrelation:
    made = RankCorrelation()
    made.update(first, second, np.zeros(len(second), dtype=np.int64))
    return made


def exact(first: np.ndarray, second: np.ndarray) -> float:
    """SciPy on every pair, as the accumulator sees it."""
    one = first.astype(np.float32)
    two = np.broadcast_to(second.astype(np.float32)[:, None], one.shape)
    there = ~np.isnan(one + two)
    with warnings.catch_warnings(action="ignore"):  # of constants
        return float(spearmanr(one[there], two[there]).statistic)


def drawn(columns: int, pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Weights that fall as norms rise, both spread like those of a model."""
    generator = np.random.default_rng(seed)
    second = np.exp(generator.normal(1, 0.35, columns)).astype(np.float32)
    spread = 1.5 * generator.normal(size=(columns, pairs))
    return np.minimum(np.exp(-4 - np.log(second)[:, None] + spread), 1).astype(np.float32), second


def half_ties(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.random.default_rng(1).random(first.shape) < 0.5
    return np.where(chosen, np.float32(0.0123), first), np.where(second > 4, 3.3, second)


SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "smooth": lambda x, y: (x, y),
    "half of all tied": half_ties,
    "forty numbers": lambda x, y: (np.round(x * 40) / 40, np.round(y, 1)),
    "in half precision": lambda x, y: (x.astype(np.float16), y.astype(np.float16)),
    "a third zeros": lambda x, y: (np.where(x < np.quantile(x, 0.33), 0, x), y),
    "zero norms": lambda x, y: (x, np.where(y < 2, 0, y)),
    "near one": lambda x, y: (1 - x, y),
    "nearly even weights": lambda x, y: (0.05 + np.log(x) / 1e4, y),
    "narrow norms": lambda x, y: (x, 5 + y / 100),
    "some missing": lambda x, y: (np.where(x < 0.005, np.nan, x), y),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_the_error_is_small_for_all_shapes_of_data(shape: str) -> None:
    first, second = SHAPES[shape](*drawn(3000, 64))
    result = counted(first, second).compute()
    assert result["count"] == np.count_nonzero(~np.isnan(first))
    assert abs(result["correlation"] - exact(first, second)) < 2e-3


def test_bins_keep_the_order_of_numbers_and_are_fine_near_0_and_1() -> None:
    """Seen by pairs of neighbours: a second number that rises with the first has ρ of 1."""
    near = 2.0 ** -np.arange(1, 12)
    ends = np.concatenate([[0, 2.0**-60, 2.0**-59], near[::-1], 1 - near[1:], [1]])
    values = ends.astype(np.float32)[:, None]
    result = counted(values, np.arange(len(values), dtype=np.float32))
    assert result.compute()["correlation"] == pytest.approx(1, abs=1e-12)


def test_few_values_are_exact() -> None:
    generator = np.random.default_rng(0)
    first = generator.choice([0, 0.01, 0.3, 0.9, 1], (500, 40)).astype(np.float32)
    second = generator.choice([0, 0.5, 0.501, 2, 7], 500) + first[:, 0]
    result = counted(first, second).compute()
    assert result["correlation"] == pytest.approx(exact(first, second), abs=1e-11)


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_pairs(sign: int) -> None:
    second = drawn(5000, 1)[1]
    result = counted((0.1 * second**sign)[:, None].repeat(2, 1), second).compute()
    assert result["correlation"] == pytest.approx(sign, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second", "count", "expected"),
    [
        ([], [], 0, np.nan),
        ([0.5], [2.0], 1, np.nan),
        ([0.5, 0.25], [2.0, 3.0], 2, -1),
        ([0.5, 0.25], [3.0, 2.0], 2, 1),
        ([0.5, 0.5], [2.0, 3.0], 2, np.nan),
        ([0.5, 0.5, 0.5], [2.0, 3.0, 2.5], 3, np.nan),
        ([0.0, -0.0, 0.1], [1.0, 1.0, 2.0], 3, 1),
        ([0.5, 0.25, 0.1], [2.0, 2.000001, 2.0], 3, np.nan),
        ([np.nan, 0.5, 0.1], [1.0, np.nan, 2.0], 1, np.nan),
        ([1.0000001, 1.0, 0.9], [2.0, 2.0, 1.0], 3, 1),
    ],
)
def test_tiny_counts(first: list, second: list, count: int, expected: float) -> None:
    result = counted(np.array(first).reshape(-1, 1), np.array(second)).compute()
    assert result["count"] == count
    np.testing.assert_allclose(result["correlation"], expected, atol=1e-9)


def test_an_entry_that_saw_nothing_is_nan_and_disturbs_nobody() -> None:
    first, second = drawn(600, 8)
    made = RankCorrelation((2, 2))
    made.update(first, second, np.arange(600) % 2 * 3)
    result = made.compute()
    np.testing.assert_array_equal(result["count"], [[2400, 0], [0, 2400]])
    np.testing.assert_array_equal(np.isnan(result["correlation"]), [[False, True], [True, False]])
    half = counted(first[::2], second[::2]).compute()
    assert result["correlation"][0, 0] == half["correlation"]


def test_any_split_and_order_is_bit_identical() -> None:
    """So many rows that they are merged again and again, at different times in each part."""
    first, second = drawn(3000, 8)
    first[first < 0.002] = np.nan
    entry = np.random.default_rng(3).integers(-1, 3, len(second))
    whole = RankCorrelation((3,))
    whole.update(first, second, entry)
    order = np.argsort(second)
    parts = []
    for rows in (order[:50], order[50:70], order[:0], order[70:2000], order[2000:]):
        parts.append(whole.empty())
        parts[-1].update(first[rows, :3], second[rows], entry[rows])
        parts[-1].update(first[rows, 3:], second[rows], entry[rows])
    one, two, three, four, five = parts
    merged = five.merge(two.merge(four)).merge(one.merge(three))
    assert whole.arrays()["tables"][:, :2].min() > 0
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged.arrays()[name], array, err_msg=name)


def test_missing_pairs_change_nothing() -> None:
    first, second = drawn(300, 8)
    whole = counted(first, second)
    nowhere = np.full((40, 8), np.nan, dtype=np.float32)
    whole.update(nowhere, np.linspace(0, 900, 40), np.zeros(40, dtype=np.int64))
    whole.update(first, second, np.full(300, -1))
    whole.update(first, np.full(300, np.nan), np.zeros(300, dtype=np.int64))
    for name, array in counted(first, second).arrays().items():
        np.testing.assert_array_equal(whole.arrays()[name], array, err_msg=name)


def test_entries_taken_together_are_ranked_together() -> None:
    """Entries of different size, place and spread: their own ranks would tell nothing."""
    made = RankCorrelation((3, 2))
    parts = {}
    for place, (row, column) in enumerate(np.ndindex(3, 2)):
        first, second = drawn(400 + 300 * place, 16, seed=place)
        parts[row, column] = first * 2.0**-place, 3 * place + 1 + second / (place + 1)
        made.update(*parts[row, column], np.full(len(second), place))
    everything = made.pooled((0, 1)).compute()
    by_column = made.pooled(0).compute()
    assert everything["correlation"].shape == ()
    for column in range(2):
        one, two = (
            np.concatenate([parts[row, column][which] for row in range(3)]) for which in (0, 1)
        )
        assert abs(by_column["correlation"][column] - exact(one, two)) < ERROR
        assert by_column["count"][column] == one.size
    one, two = (np.concatenate([each[which] for each in parts.values()]) for which in (0, 1))
    assert abs(everything["correlation"] - exact(one, two)) < ERROR


def test_memory_does_not_grow_with_the_pairs() -> None:
    made = RankCorrelation()
    for seed in range(8):
        first, second = drawn(2000, 16, seed)
        made.update(first, second, np.zeros(2000, dtype=np.int64))
        assert sum(array.nbytes for array in made.arrays().values()) <= 0.2e6
        assert len(made.arrays()["keys"]) <= ROWS


@pytest.mark.parametrize(
    ("first", "second", "entry", "message"),
    [
        (np.ones((2, 3)), np.ones(3), np.zeros(2, int), "to fit"),
        (np.ones((2, 3)), np.ones(2), np.zeros(3, int), "to fit"),
        (np.ones((2, 3)), np.ones(2), np.array([0, 1]), "from -1 to 0"),
        (np.ones((2, 3)), np.ones(2), np.array([0, -2]), "from -1 to 0"),
        (-np.ones((2, 3)), np.ones(2), np.zeros(2, int), "negative"),
        (np.array([[np.nan, -1]]), np.ones(1), np.zeros(1, int), "negative"),
        (np.ones((2, 3)), -np.ones(2), np.zeros(2, int), "negative"),
    ],
)
def test_pairs_that_cannot_be_ranked_are_refused(
    first: np.ndarray, second: np.ndarray, entry: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RankCorrelation().update(first, second, entry)


def test_trillions_of_pairs() -> None:
    """Merged with itself over and over; ρ does not know how often pairs occur."""
    first, second = np.random.default_rng(5).random((2, 500)).astype(np.float32)
    once = counted(first[:, None], second)
    many = once.copy()
    for _ in range(32):
        many = many.merge(many)
    one, other = once.compute(), many.compute()
    assert other["count"] == 500 * 2**32
    assert other["correlation"] == pytest.approx(one["correlation"], abs=1e-9)
