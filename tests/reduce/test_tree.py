"""Shards merged as a tree: the same bits in whatever blocks they come, and nothing lost."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.corpus import bits
from headlight.reduce import Count, Grouped, Moments, Pearson, Tally, Tree


def shard(seed: int) -> Tally:
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(int(generator.integers(1, 5)), 2)) * 10.0 ** (seed % 7)
    tally = Tally({"rows": Moments((2,)), "pairs": Grouped(Pearson()), "number": Count()})
    tally["rows"].update(rows)
    tally["pairs"].update(np.full(len(rows), seed % 3), rows[:, 0], rows[:, 1])
    tally["number"].update(np.ones(len(rows)))
    return tally


def grown(shards: list[Tally]) -> Tree:
    tree = Tree()
    for each in shards:
        tree = tree.push(each)
    return tree


@st.composite
def cuts(draw: st.DrawFn) -> tuple[int, list[slice]]:
    """A number of shards, and aligned blocks of them: each of a power of two that divides where it
    begins."""
    number = draw(st.integers(0, 40))
    blocks: list[slice] = []
    first = 0
    while first < number:
        most = (first & -first).bit_length() - 1 if first else 6
        size = 2 ** draw(st.integers(0, most))
        blocks.append(slice(first, min(first + size, number)))
        first += size
    return number, blocks


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cuts(), st.randoms(use_true_random=False))
def test_blocks_measured_in_any_order_give_the_same_bits(cut, random) -> None:
    number, blocks = cut
    shards = [shard(seed) for seed in range(number)]
    arrival = list(range(len(blocks)))
    random.shuffle(arrival)
    found = {place: grown(shards[blocks[place]]) for place in arrival}
    tree = Tree()
    for place in range(len(blocks)):
        levels = [level for level, _ in found[place].nodes]
        tree = tree.join(Tree.from_flat(found[place].flat(), levels))
    whole = grown(shards)
    assert [level for level, _ in tree.nodes] == [level for level, _ in whole.nodes]
    assert bits(tree.result()) == bits(whole.result())


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40))
def test_the_tree_holds_what_a_running_sum_holds(number: int) -> None:
    running = Tally()
    for seed in range(number):
        running = running.merge(shard(seed))
    expected, found = running.compute(), grown([shard(s) for s in range(number)]).result().compute()
    assert found.keys() == expected.keys()
    for name, statistics in expected.items():
        for statistic, value in statistics.items():
            np.testing.assert_allclose(found[name][statistic], value, rtol=1e-9, atol=1e-9)


def test_subtrees_are_as_many_as_the_number_has_ones() -> None:
    tree = grown([shard(seed) for seed in range(13)])
    assert [level for level, _ in tree.nodes] == [3, 2, 0]
