"""Resampled sums against their definition, and against the bootstrap that they stand for."""

import numpy as np
import pytest

from headlight.reduce import Bootstrap


def seen(rows: np.ndarray, keys: np.ndarray | None = None, **settings: int) -> Bootstrap:
    made = Bootstrap(rows.shape[1:], **settings)
    made.update(np.arange(len(rows)) if keys is None else keys, rows)
    return made


def test_every_resample_is_the_sum_of_what_it_took() -> None:
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 50, (700, 3, 2))
    identity = seen(np.eye(700, dtype=int), replicates=20).compute()["replicates"]  # who took whom
    found = seen(rows, replicates=20, held=100).compute()
    np.testing.assert_array_equal(found["total"], rows.sum(axis=0))
    for taken, sums in zip(identity, found["replicates"], strict=True):
        expected = sum(times * row for times, row in zip(taken, rows, strict=True))
        np.testing.assert_array_equal(sums, expected)


def test_how_often_a_cluster_is_taken_is_poisson_with_mean_one() -> None:
    taken = seen(np.eye(400, dtype=int), replicates=300).compute()["replicates"]
    assert taken.mean() == pytest.approx(1, abs=0.01)
    assert taken.var() == pytest.approx(1, abs=0.02)
    assert (taken == 0).mean() == pytest.approx(np.exp(-1), abs=0.005)
    assert abs(np.corrcoef(taken.T) - np.eye(400)).max() < 0.35  # independent of one another


def test_the_key_and_the_seed_decide_and_nothing_else() -> None:
    rows = np.arange(6)[:, None]
    keys = np.array([-(2**63), 2**63 - 1, 0, 4, 5, 6])
    first = seen(rows, keys).compute()["replicates"]
    shuffled = np.array([3, 1, 5, 0, 2, 4])
    np.testing.assert_array_equal(
        first, seen(rows[shuffled], keys[shuffled]).compute()["replicates"]
    )
    assert (first != seen(rows, keys, seed=1).compute()["replicates"]).any()
    assert (first != seen(rows, keys + np.eye(6, dtype=int)[2]).compute()["replicates"]).any()


def test_the_spread_is_that_of_the_ordinary_bootstrap() -> None:
    """Accuracy over 300 sentences of uneven length, whose errors come together."""
    generator = np.random.default_rng(1)
    words = generator.integers(1, 40, 300)
    right = generator.binomial(words, generator.beta(2, 1, 300))
    both = seen(np.stack([right, words], axis=1), replicates=2000).compute()["replicates"]
    poisson = both[:, 0] / both[:, 1]
    drawn = generator.integers(0, 300, (2000, 300))
    ordinary = right[drawn].sum(axis=1) / words[drawn].sum(axis=1)
    assert poisson.std() == pytest.approx(ordinary.std(), rel=0.1)
    np.testing.assert_allclose(
        np.percentile(poisson, [2.5, 97.5]), np.percentile(ordinary, [2.5, 97.5]), atol=0.006
    )


def test_large_numbers_stay_exact() -> None:
    rows = np.full((600, 1), 65535)
    rows[::7] -= 1
    assert seen(rows, replicates=1).compute()["total"] == rows.sum()


@pytest.mark.parametrize(
    ("keys", "rows", "message"),
    [
        ([1], np.zeros((2, 3)), "shape"),
        ([1], np.zeros((1, 4)), "shape"),
        ([1], np.full((1, 3), 0.5), "whole numbers"),
        ([1], np.full((1, 3), -1), "whole numbers"),
        ([1], np.full((1, 3), 65536), "whole numbers"),
    ],
)
def test_what_is_no_count_is_refused(keys: list[int], rows: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bootstrap((3,)).update(np.array(keys), rows)
