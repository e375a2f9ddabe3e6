"""Correlation with frequencies against scipy's on all occurrences."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from headlight.studies.survey.frequency_correlation import correlated, counted
from headlight.studies.survey.frequency_ranks import FrequencyRanks, Occurrences

ZIPF = 1 / np.arange(1.0, 400.0)


def occurrences_of(ids: np.ndarray, rank: np.ndarray) -> Occurrences:
    return Occurrences(FrequencyRanks(rank, "a test"), np.bincount(ids, minlength=len(rank)))


def found(values: np.ndarray, ids: np.ndarray, rank: np.ndarray):
    occurrences = occurrences_of(ids, rank)
    series = values if values.ndim > 1 else values[:, None]
    seen, ranks = counted(series, occurrences.twice_mid_rank[ids])
    result = correlated(seen.compute()["total"], ranks.compute()["total"], occurrences)
    return result if values.ndim > 1 else {name: each[0] for name, each in result.items()}


def drawn(number: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    ids = generator.choice(len(ZIPF), size=number, p=ZIPF / ZIPF.sum())
    return generator, ids, np.arange(1.0, len(ZIPF) + 1)


def test_mid_ranks_are_those_of_all_occurrences():
    generator, ids, rank = drawn(5000)
    rank = np.floor(rank / 3) + 1  # types of equal rank
    rank[generator.integers(len(rank), size=20)] = np.nan
    occurrences = occurrences_of(ids, rank)
    there = ~np.isnan(rank[ids])
    expected = rankdata(rank[ids][there])
    np.testing.assert_array_equal(occurrences.twice_mid_rank[ids][there] / 2, expected)
    assert (occurrences.twice_mid_rank[ids][~there] == 0).all()
    assert occurrences.left_out == (~there).sum() > 0


@pytest.mark.parametrize("kind", ["weights", "norms", "ties", "zeros", "unrelated"])
def test_it_is_scipys(kind):
    generator, ids, rank = drawn(40_000)
    noise = generator.normal(size=len(ids))
    values = {
        "weights": np.exp(0.5 * noise - 0.2 * np.log(rank[ids]) - 5),
        "norms": 5 + 0.2 * np.log(rank[ids]) + 0.5 * noise,
        "ties": np.round(3 + np.log(rank[ids]) + noise).clip(0),
        "zeros": np.maximum(noise + 0.3 * np.log(rank[ids]) - 1, 0),
        "unrelated": np.exp(noise),
    }[kind].astype(np.float32).astype(float)  # fmt: skip
    result = found(values, ids, rank)
    assert result["count"] == len(ids)
    assert abs(result["correlation"] - spearmanr(values, rank[ids]).statistic) < 5e-4


@pytest.mark.parametrize("ids", [[], [3], [1, 2], [4, 4, 4]])
def test_types_of_one_rank_have_no_correlation(ids):
    rank = np.array([1.0, 2.0, 2.0, 5.0, 6.0])
    result = found(np.arange(1.0, len(ids) + 1), np.array(ids, dtype=np.int64), rank)
    assert np.isnan(result["correlation"])


def test_a_monotone_relation_is_perfect():
    ids = np.arange(100)
    rank = np.arange(1.0, 101.0)
    for sign in (1, -1):
        result = found(np.exp(sign * rank / 20), ids, rank)
        assert result["correlation"] == pytest.approx(sign)


def test_series_are_kept_apart_and_missing_values_left_out():
    generator, ids, rank = drawn(3000)
    values = generator.random((3000, 2, 3))
    values[:, 1, 2] = np.nan
    values[:50, 0, 1] = np.nan
    result = found(values, ids, rank)
    assert np.isnan(result["correlation"][1, 2])
    assert result["count"].tolist() == [[3000, 2950, 3000], [3000, 3000, 0]]
    exact = spearmanr(values[:, 1, 0].astype(np.float32), rank[ids]).statistic
    assert abs(result["correlation"][1, 0] - exact) < 1e-3


def test_parts_add_up_bit_by_bit():
    generator, ids, rank = drawn(999)
    values = generator.random((999, 2))
    occurrences = occurrences_of(ids, rank)
    ranks = occurrences.twice_mid_rank[ids]
    whole = counted(values, ranks)
    parts = [counted(values[part], ranks[part]) for part in np.split(np.arange(999), 9)]
    for number, total in enumerate(whole):
        merged = parts[0][number]
        for part in parts[:0:-1]:
            merged = merged.merge(part[number])
        np.testing.assert_array_equal(merged.total, total.total)
