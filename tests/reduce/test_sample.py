"""Samples: uniform, and the same however they come about."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from headlight.reduce import Sample

LENGTHS = [700, 1, 0, 40, 3000, 259]


def rows_of(stream: int, numbers: np.ndarray) -> np.ndarray:
    return np.stack([np.full(len(numbers), float(stream)), numbers], axis=1)


def see(sample: Sample, stream: int, length: int, group: int = 0) -> None:
    keys, numbers = sample.draw(stream, length, group)
    sample.keep(keys, rows_of(stream, numbers), group)


def sampled(size: int, seed: int) -> Sample:
    sample = Sample(size, seed=seed)
    for stream, length in enumerate(LENGTHS):
        see(sample, stream, length)
    return sample


def test_every_row_is_equally_likely() -> None:
    """4000 rows in streams of uneven length, each in a sample of 50 with probability 1/80."""
    starts = np.cumsum([0, *LENGTHS])
    counts = np.zeros(starts[-1])
    for seed in range(200):
        rows = sampled(50, seed).compute()["rows"][0].astype(int)
        assert len(np.unique(rows, axis=0)) == 50  # without replacement
        counts[starts[rows[:, 0]] + rows[:, 1]] += 1
    by_stream = np.add.reduceat(counts, starts[:-1][np.array(LENGTHS) > 0])
    expected = np.array([each for each in LENGTHS if each]) * 200 * 50 / 4000
    assert chisquare(by_stream, expected).pvalue > 1e-3
    assert chisquare(counts.reshape(100, 40).sum(axis=1)).pvalue > 1e-3
    assert chisquare(counts.reshape(40, 100).sum(axis=0)).pvalue > 1e-3


def test_keys_are_those_of_as_many_uniform_numbers() -> None:
    keys, numbers = Sample(5000).draw(7, 5000)
    assert (np.diff(keys) > 0).all()
    assert kstest(keys, "uniform").pvalue > 1e-3
    assert sorted(numbers) == list(range(5000))
    lowest = [Sample(1, seed=seed).draw(0, 30)[0][0] for seed in range(500)]
    assert kstest(lowest, lambda key: 1 - (1 - key) ** 30).pvalue > 1e-3


def test_only_what_can_be_kept_is_drawn() -> None:
    sample = Sample(20)
    see(sample, 0, 100_000)
    drawn = [len(sample.draw(stream, 1000)[0]) for stream in range(1, 100)]
    assert np.mean(drawn) == pytest.approx(0.2, abs=0.15)


def test_order_and_split_do_not_matter() -> None:
    whole = sampled(60, seed=3)
    one, two, three = (whole.empty() for _ in range(3))
    for stream in (5, 0):
        see(two, stream, LENGTHS[stream])
    for stream in (3, 4, 2):
        see(one, stream, LENGTHS[stream])
    see(three, 1, LENGTHS[1])
    for merged in (one.merge(two).merge(three), three.merge(two.merge(one))):
        for name, array in whole.arrays().items():
            np.testing.assert_array_equal(merged.arrays()[name], array)
    assert whole.compute()["seen"] == sum(LENGTHS)


def test_parts_of_what_was_drawn_may_come_in_any_order() -> None:
    whole, parts = Sample(30), Sample(30)
    see(whole, 0, 500)
    keys, numbers = parts.draw(0, 500)
    for chosen in (numbers % 3 == 2, numbers % 3 == 0, numbers % 3 == 1):
        parts.keep(keys[chosen], rows_of(0, numbers[chosen]))
    np.testing.assert_array_equal(whole.compute()["rows"], parts.compute()["rows"])


def test_groups_have_samples_of_their_own() -> None:
    sample = Sample(8, groups=3, seed=1)
    for stream in range(5):
        see(sample, stream, 5, group=0)
        see(sample, stream, 1, group=2)
    found = sample.compute()
    np.testing.assert_array_equal(found["seen"], [25, 0, 5])
    np.testing.assert_array_equal(np.isnan(found["rows"]).any(-1).sum(-1), [0, 8, 3])
    assert found["rows"].shape == (3, 8, 2)
    apart = Sample(8, seed=1).draw(0, 5)[0] != Sample(8, groups=2, seed=1).draw(0, 5, 1)[0]
    assert apart.all()


def test_the_seed_decides() -> None:
    np.testing.assert_array_equal(sampled(9, 1).compute()["rows"], sampled(9, 1).compute()["rows"])
    assert (sampled(9, 1).compute()["rows"] != sampled(9, 2).compute()["rows"]).any()


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rows of shape \(1, 3\)"):
        Sample(4, 3).keep(np.array([0.5]), np.zeros((1, 2)))
