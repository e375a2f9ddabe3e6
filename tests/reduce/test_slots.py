"""Sums in contiguous blocks of a corpus, against a corpus that is cut when it is known."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from headlight.reduce import Slots, Tally, Tree
from headlight.reduce.slots import SLOTS


def block_size(units: int) -> int:
    """The lowest power of two at which all units have a slot."""
    size = 1
    while (units - 1) // size >= SLOTS:
        size *= 2
    return size


def corpus(units: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts of documents that follow each other, with a number that some lack."""
    generator = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), generator.integers(1, 4, units))
    part, whole = generator.normal(2, 1, (len(unit), 2)), generator.uniform(1, 5, (len(unit), 2))
    part[generator.random(part.shape) < 0.1] = np.nan
    return unit, part, whole


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(units=strategies.integers(1, 300), seed=strategies.integers(0, 99))
def test_slots_are_contiguous_blocks(units: int, seed: int) -> None:
    unit, part, whole = corpus(units, seed)
    sums = Slots.of(unit, part, whole)
    size = block_size(units)
    made = sums.compute()
    for slot in range(SLOTS):
        here = unit // size == slot
        seen = here[:, None] & np.isfinite(part)
        np.testing.assert_allclose(made["whole"][slot], np.where(seen, whole, 0).sum(0))
        np.testing.assert_allclose(sums.parts[slot], np.where(seen, part, 0).sum(0))
        assert made["units"][slot] == len(set(unit[here]))
    seen = np.isfinite(part)
    ratio = np.where(seen, part, 0).sum(0) / np.where(seen, whole, 0).sum(0)
    np.testing.assert_allclose(made["mean"], ratio)
    rest = unit // size != 0
    if (rest[:, None] & seen).any(0).all():
        part, whole = np.where(seen, part, 0)[rest], np.where(seen, whole, 0)[rest]
        np.testing.assert_allclose(made["without"][0], part.sum(0) / whole.sum(0), rtol=1e-9)


@settings(deadline=None, max_examples=40)
@given(units=strategies.integers(1, 200), seed=strategies.integers(0, 99))
def test_parts_may_be_merged_in_any_order_and_shards_to_the_same_bits(
    units: int, seed: int
) -> None:
    unit, part, whole = corpus(units, seed)
    generator = np.random.default_rng(seed)
    cuts = np.sort(generator.integers(0, len(unit), 7))
    shards = [Slots.of(unit[rows], part[rows], whole[rows])
              for rows in np.split(np.arange(len(unit)), cuts) if len(rows)]  # fmt: skip
    expected = Slots.of(unit, part, whole)
    merged = shards[0].empty()
    for at in generator.permutation(len(shards)):
        merged = merged.merge(shards[at])
    assert merged.level == expected.level
    for field in Slots.fields:
        np.testing.assert_allclose(getattr(merged, field), getattr(expected, field), atol=1e-12)
    one = Tree()
    for shard in shards:
        one = one.push(Tally({"of": shard}))
    half, rest = Tree(), Tree()
    for shard in shards[:4]:
        half = half.push(Tally({"of": shard}))
    for shard in shards[4:]:
        rest = rest.push(Tally({"of": shard}))
    two = half.join(rest)
    for field in Slots.fields:
        np.testing.assert_array_equal(
            getattr(one.result()["of"], field), getattr(two.result()["of"], field)
        )


def test_a_denominator_that_all_share_is_kept_once() -> None:
    generator = np.random.default_rng(1)
    part, whole = generator.normal(size=(9, 2, 3)), generator.uniform(1, 2, (9, 1, 1))
    one = Slots.of(np.arange(9), part, whole).compute()
    other = Slots.of(np.arange(9), part, whole + 0 * part).compute()
    assert one["whole"].shape == (SLOTS, 1, 1)
    np.testing.assert_allclose(one["without"], other["without"])
    part[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        Slots.of(np.arange(9), part, whole)


def test_units_without_a_number_are_counted() -> None:
    made = Slots.of(np.arange(40), np.full(40, np.nan)).compute()
    assert made["units"].tolist() == [2] * 20 + [0] * 12
    assert not made["whole"].any()
    assert np.isnan(made["mean"])
