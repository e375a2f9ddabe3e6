"""The simulation of shared runs: what must hold whatever the costs are."""

import pytest
from benchmarks.scaling import SHARD, Costs, blocks_of, efficiency
from hypothesis import given, strategies as st

seconds = st.floats(0, 1e-2)


@given(st.integers(0, 10**6))
def test_blocks_hold_all_shards(shards: int) -> None:
    assert sum(blocks_of(shards)) == shards


def test_one_worker_does_everything_in_turn() -> None:
    costs = Costs((2, 2), measuring=0.1, tokenising=0.02, reading=0.01, keeping=3, merging=5)
    shards = 10
    texts = shards * SHARD
    whole = 2 + texts * 0.13 + shards * (3 + 5)
    assert efficiency(texts, 1, costs, uneven=False) == pytest.approx(texts * 0.1 / whole)


def test_two_workers_read_what_the_other_measures() -> None:
    """The second begins behind the first shard, which it reads."""
    costs = Costs((0, 0), measuring=0.1, tokenising=0, reading=0.01, keeping=0, merging=0)
    last = SHARD * (0.01 + 0.11)
    expected = SHARD * 0.1 / last
    assert efficiency(2 * SHARD, 2, costs, uneven=False) == pytest.approx(expected)


@given(st.integers(1, 10**5), st.integers(1, 50), seconds, seconds, st.booleans())
def test_nobody_measures_longer_than_it_takes(
    corpus: int, workers: int, reading: float, merging: float, uneven: bool
) -> None:
    costs = Costs((1, 2), 0.01, 0.001, reading, 0.002, merging)
    assert 0 < efficiency(corpus, workers, costs, uneven=uneven) < 1


def test_of_an_uneven_crew_the_rest_works_on() -> None:
    costs = Costs((0, 0), measuring=0.05, tokenising=0, reading=0, keeping=0, merging=0)
    assert efficiency(100_000_000, 100, costs) > 0.95
