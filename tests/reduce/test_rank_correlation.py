"""Rank correlation in fixed memory against SciPy on all pairs."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from headlight.reduce import RankCorrelation
from headlight.reduce.rank import RESOLUTIONS

both = pytest.mark.parametrize("resolution", list(RESOLUTIONS))


def seen(first: np.ndarray, second: np.ndarray, resolution: str = "fine") -> RankCorrelation:
    made = RankCorrelation(resolution=resolution)
    made.update_columns(first, second, np.zeros(len(second), dtype=np.int64))
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


def zeros_and_denormals(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A third zero, a third too small for a normal float32."""
    generator = np.random.default_rng(2)
    kind = generator.integers(0, 3, first.shape)
    tiny = (generator.random(first.shape) * 1e-38 / second[:, None]).astype(np.float32)
    return np.choose(kind, [np.zeros_like(first), tiny, first]), second


SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "smooth": lambda x, y: (x, y),
    "half of all tied": half_ties,
    "forty numbers": lambda x, y: (np.round(x * 40) / 40, np.round(y, 1)),
    "in half precision": lambda x, y: (x.astype(np.float16), y.astype(np.float16)),
    "zeros and denormals": zeros_and_denormals,
    "zero norms": lambda x, y: (x, np.where(y < 2, 0, y)),
    "near one": lambda x, y: (1 - x, y),
    "narrow norms": lambda x, y: (x, 5 + y / 100),
    "some missing": lambda x, y: (np.where(x < 0.005, np.nan, x), y),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_all_shapes_of_data(shape: str) -> None:
    first, second = SHAPES[shape](*drawn(3000, 64))
    expected = exact(first, second)
    for resolution, tolerance in (("fine", 1e-4), ("coarse", 5e-3)):
        found = seen(first, second, resolution).compute()
        assert found["count"] == np.count_nonzero(~np.isnan(first))
        assert abs(found["correlation"] - expected) < tolerance, resolution
        assert abs(found["correlation"] - expected) <= found["error_bound"], resolution


@both
def test_numbers_that_are_neither_weights_nor_norms(resolution: str) -> None:
    """Bins are wide there, and the bound says so."""
    first, second = drawn(1000, 16)
    first, second = first * np.float32(1e20), second * np.float32(1e-20)
    found = seen(first, second, resolution).compute()
    assert abs(found["correlation"] - exact(first, second)) <= found["error_bound"] < 1


def test_a_million_pairs_with_heavy_ties_denormals_and_zeros() -> None:
    first, second = zeros_and_denormals(*half_ties(*drawn(8_500, 128)))
    found = seen(first, second).compute()
    expected = exact(first, second)
    assert found["count"] == first.size > 1_000_000
    assert abs(found["correlation"] - expected) < 1e-4
    assert abs(found["correlation"] - expected) <= found["error_bound"] < 0.5


def test_ties_alone_are_exact_and_known_to_be() -> None:
    generator = np.random.default_rng(0)
    first = generator.choice([0, 1e-40, 0.01, 0.3, 0.9, 1], (500, 40)).astype(np.float32)
    second = generator.choice([0, 0.5, 0.501, 2, 7], 500) + first[:, 0]
    found = seen(first, second).compute()
    assert found["correlation"] == pytest.approx(exact(first, second), abs=1e-11)
    assert found["error_bound"] < 1e-11


@pytest.mark.slow
@both
@settings(deadline=None, max_examples=60)
@given(data=strategies.data())
def test_the_bound_holds_for_any_numbers(resolution: str, data: strategies.DataObject) -> None:
    few = strategies.sampled_from([0, 1e-45, 0.25, 0.2500001, 1, 3, 1e20])
    numbers = few | strategies.floats(0, 8, width=32) | strategies.just(np.nan)
    columns = data.draw(strategies.integers(1, 12))
    first = np.abs(data.draw(arrays(np.float32, (columns, 4), elements=numbers)))
    second = np.abs(data.draw(arrays(np.float32, columns, elements=numbers)))
    found = seen(first, second, resolution).compute()
    expected = exact(first, second)
    assert np.isnan(found["correlation"]) == np.isnan(found["error_bound"])
    if not np.isnan(expected):
        assert abs(found["correlation"] - expected) <= found["error_bound"]


@both
@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_pairs(resolution: str, sign: int) -> None:
    second = drawn(5000, 1)[1]
    found = seen((0.1 * second**sign)[:, None].repeat(2, 1), second, resolution).compute()
    assert found["correlation"] == pytest.approx(sign, abs=1e-3)
    assert abs(found["correlation"] - sign) <= found["error_bound"]


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
        ([np.nan, 0.5, 0.1], [1.0, np.nan, 2.0], 1, np.nan),
    ],
)
def test_tiny_counts(first: list, second: list, count: int, expected: float) -> None:
    made = RankCorrelation()
    made.update(np.array(first), np.array(second))
    found = made.compute()
    assert found["count"] == count
    np.testing.assert_allclose(found["correlation"], expected, atol=1e-9)
    assert np.isnan(found["error_bound"]) == np.isnan(expected)


def test_an_entry_that_saw_nothing_is_nan_and_disturbs_nobody() -> None:
    first, second = drawn(600, 8)
    made = RankCorrelation((2, 2), resolution="coarse")
    made.update_columns(first, second, np.arange(600) % 2 * 3)
    found = made.compute()
    np.testing.assert_array_equal(found["count"], [[2400, 0], [0, 2400]])
    np.testing.assert_array_equal(np.isnan(found["correlation"]), [[False, True], [True, False]])
    half = seen(first[::2], second[::2], "coarse").compute()
    assert found["correlation"][0, 0] == half["correlation"]


@both
def test_any_split_and_order_is_bit_identical(resolution: str) -> None:
    """So many rows that they are joined again and again, at different times in each part."""
    first, second = drawn(3000, 8)
    first[first < 0.002] = np.nan
    entry = np.random.default_rng(3).integers(-1, 3, len(second))
    whole = RankCorrelation((3,), resolution=resolution)
    whole.update_columns(first, second, entry)
    order = np.argsort(second)
    parts = []
    for rows in (order[:50], order[50:70], order[:0], order[70:2000], order[2000:]):
        parts.append(whole.empty())
        parts[-1].update_columns(first[rows, :3], second[rows], entry[rows])
        parts[-1].update_columns(first[rows, 3:], second[rows], entry[rows])
    one, two, three, four, five = parts
    merged = five.merge(two.merge(four)).merge(one.merge(three))
    assert whole._tables[0].level > 0
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged.arrays()[name], array, err_msg=name)


def test_what_is_missing_changes_nothing() -> None:
    first, second = drawn(300, 8)
    whole = seen(first, second)
    nowhere = np.full((40, 8), np.nan, dtype=np.float32)
    whole.update_columns(nowhere, np.linspace(0, 900, 40), np.zeros(40, dtype=np.int64))
    whole.update_columns(first, second, np.full(300, -1))
    whole.update_columns(first, np.full(300, np.nan), np.zeros(300, dtype=np.int64))
    for name, array in seen(first, second).arrays().items():
        np.testing.assert_array_equal(whole.arrays()[name], array, err_msg=name)


def test_columns_are_pairs_and_long_columns_are_cut() -> None:
    first, second = drawn(3, 70_000)
    pairs = RankCorrelation()
    pairs.update(first.ravel(), second.repeat(first.shape[1]))
    for name, array in seen(first, second).arrays().items():
        np.testing.assert_array_equal(pairs.arrays()[name], array, err_msg=name)


@both
def test_entries_thrown_together_are_ranked_together(resolution: str) -> None:
    """Entries of different size, place and spread: their own ranks would tell nothing."""
    made = RankCorrelation((3, 2), resolution=resolution)
    parts = {}
    for place, (row, column) in enumerate(np.ndindex(3, 2)):
        first, second = drawn(400 + 300 * place, 16, seed=place)
        parts[row, column] = first * 2.0**-place, 3 * place + 1 + second / (place + 1)
        made.update_columns(*parts[row, column], np.full(len(second), place))
    everything = made.pooled().compute()
    by_column = made.pooled(0).compute()
    assert everything["correlation"].shape == ()
    for column in range(2):
        some = [parts[row, column] for row in range(3)]
        one, two = (np.concatenate([each[which] for each in some]) for which in (0, 1))
        error = abs(by_column["correlation"][column] - exact(one, two))
        assert error < (1e-4 if resolution == "fine" else 2e-3)
        assert error <= by_column["error_bound"][column] < 0.5
        assert by_column["count"][column] == one.size
    one, two = (np.concatenate([each[which] for each in parts.values()]) for which in (0, 1))
    error = abs(everything["correlation"] - exact(one, two))
    assert error <= everything["error_bound"]
    np.testing.assert_array_equal(
        made.pooled([0, 1]).compute()["correlation"], everything["correlation"]
    )


@both
def test_memory_does_not_grow_with_the_pairs(resolution: str) -> None:
    made = RankCorrelation(resolution=resolution)
    sizes = []
    for seed in range(8):
        first, second = drawn(2000, 16, seed)
        made.update_columns(first, second, np.zeros(2000, dtype=np.int64))
        sizes.append(made.nbytes)
    assert max(sizes) <= {"fine": 2.5e6, "coarse": 0.25e6}[resolution]
    assert len(made._tables[0].rows) <= RESOLUTIONS[resolution].rows


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
def test_what_cannot_be_ranked_is_refused(
    first: np.ndarray, second: np.ndarray, entry: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RankCorrelation().update_columns(first, second, entry)


def test_trillions_of_pairs() -> None:
    """Merged with itself over and over; neither ρ nor the bound knows how often pairs occur."""
    generator = np.random.default_rng(5)
    first, second = generator.random((2, 500)).astype(np.float32)
    once = RankCorrelation()
    once.update(first, second)
    many = once.copy()
    for _ in range(32):
        many = many.merge(many)
    one, other = once.compute(), many.compute()
    assert other["count"] == 500 * 2**32
    assert other["correlation"] == pytest.approx(one["correlation"], abs=1e-9)
    assert other["error_bound"] == pytest.approx(one["error_bound"], rel=0.05)
    exact = spearmanr(first, second).statistic
    assert abs(other["correlation"] - exact) <= other["error_bound"]
