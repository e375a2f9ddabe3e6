"""Positions to categories and neighbourhoods, against loops and by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from torch import Tensor

from headlight.pool import membership, over_keys, over_neighbours, over_queries, with_all

SIZE = 3
PADDING = -1
lengths = strategies.lists(strategies.integers(0, 6), min_size=1, max_size=3)
seeds = strategies.integers(0, 2**32 - 1)
sides = strategies.sampled_from(["left", "right"])


def padded(rows: Sequence[Sequence[int]], side: str) -> Tensor:
    """Categories of several texts, filled up to the longest."""
    width = max(map(len, rows))
    fill = [[PADDING] * (width - len(row)) for row in rows]
    filled = [
        [*gap, *row] if side == "left" else [*row, *gap]
        for row, gap in zip(rows, fill, strict=True)
    ]
    return torch.tensor(filled, dtype=torch.long).reshape(len(rows), width)


def random_categories(seed: int, lengths: Sequence[int], side: str) -> Tensor:
    generator = np.random.default_rng(seed)
    return padded([generator.integers(0, SIZE, length).tolist() for length in lengths], side)


def random_score(seed: int, queries: Tensor, keys: Tensor, heads: int = 2) -> Tensor:
    """Zero for padding keys, as every measure is; anything for padding queries."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(queries), heads, queries.shape[1], keys.shape[1])
    score = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return score * (keys != PADDING)[:, None, None]


def mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


@settings(max_examples=100, deadline=None)
@given(seeds, lengths, sides)
def test_members_are_the_positions_of_a_category(seed: int, lengths: list[int], side: str) -> None:
    category = random_categories(seed, lengths, side)
    members = with_all(membership(category, SIZE))
    assert members.shape == (*category.shape, SIZE + 1)
    for text, position in np.ndindex(*category.shape):
        code = int(category[text, position])
        wanted = [code != PADDING, *(code == other for other in range(SIZE))]
        assert members[text, position].bool().tolist() == wanted


@settings(max_examples=60, deadline=None)
@given(seeds, seeds, lengths, strategies.data(), sides)
def test_sums_over_keys_are_those_of_loops(
    seed: int, other: int, lengths: list[int], data: strategies.DataObject, side: str
) -> None:
    targets = data.draw(
        strategies.lists(strategies.integers(0, 6), min_size=len(lengths), max_size=len(lengths))
    )
    queries, keys = random_categories(seed, targets, side), random_categories(other, lengths, side)
    score = random_score(seed, queries, keys)
    found = over_keys(score, membership(keys, SIZE))
    assert found.shape == (*score.shape[:3], SIZE)
    for text, head, query, code in np.ndindex(*found.shape):
        wanted = math.fsum(
            float(score[text, head, query, key])
            for key in range(keys.shape[1])
            if keys[text, key] == code
        )
        assert float(found[text, head, query, code]) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seeds, lengths, sides)
def test_means_over_queries_are_those_of_loops(seed: int, lengths: list[int], side: str) -> None:
    queries = random_categories(seed, lengths, side)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(len(queries), 2, queries.shape[1], 5, generator=generator).double()
    found = over_queries(rows, with_all(membership(queries, SIZE)))
    assert found.shape == (len(queries), 2, SIZE + 1, 5)
    for text, head, code, kind in np.ndindex(*found.shape):
        wanted = mean(
            [
                float(rows[text, head, query, kind])
                for query in range(queries.shape[1])
                if queries[text, query] != PADDING and code in (0, queries[text, query] + 1)
            ]
        )
        assert float(found[text, head, code, kind]) == pytest.approx(wanted, abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(seeds, lengths, sides)
def test_neighbours_are_those_of_loops(seed: int, lengths: list[int], side: str) -> None:
    offsets = (-2, -1, 0, 1, 3)
    category = random_categories(seed, lengths, side)
    score = random_score(seed, category, category)
    present = (category != PADDING).double()
    found = over_neighbours(score, present, offsets)
    assert found.shape == (*score.shape[:2], len(offsets))
    for text, head, place in np.ndindex(*found.shape):
        wanted = mean(
            [
                float(score[text, head, query, query + offsets[place]])
                if 0 <= query + offsets[place] < category.shape[1]
                else 0.0
                for query in range(category.shape[1])
                if category[text, query] != PADDING
            ]
        )
        assert float(found[text, head, place]) == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_a_category_that_no_query_has_is_missing() -> None:
    rows = torch.ones(2, 1, 3, 1)
    category = padded([[0, 1, 1], [2]], "right")
    found = over_queries(rows, with_all(membership(category, SIZE)))[:, 0, :, 0]
    nan = math.nan
    wanted = torch.tensor([[1, 1, 1, nan], [1, nan, nan, 1]])
    torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side: str) -> None:
    """Whatever the rows of padding queries hold, the text scores as it does alone."""
    text = [0, 2, 1, 1]
    alone, batch = padded([text], side), padded([text, [0] * 7], side)
    score = random_score(3, batch, batch)
    part = slice(3, 7) if side == "left" else slice(0, 4)
    single = score[:1, :, part, part]
    for members in (membership(batch, SIZE), with_all(membership(batch, SIZE))):
        own = members[:1, part]
        found = over_queries(over_keys(score, members), members)[:1]
        wanted = over_queries(over_keys(single, own), own)
        torch.testing.assert_close(found, wanted, equal_nan=True)
    found = over_neighbours(score, (batch != PADDING).double())[:1]
    torch.testing.assert_close(found, over_neighbours(single, (alone != PADDING).double()))


def test_neighbours_by_hand() -> None:
    """Three tokens; nothing is before the first and after the last, and the mean is over three."""
    score = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.0, 0.9, 0.1]])[None, None]
    found = over_neighbours(score, torch.ones(1, 3))
    wanted = [(0.5 + 0.9) / 3, (0.1 + 0.2 + 0.1) / 3, (0.6 + 0.3) / 3]
    torch.testing.assert_close(found, torch.tensor([[wanted]]))


def test_a_lone_token_has_no_neighbours() -> None:
    found = over_neighbours(torch.ones(1, 1, 1, 1), torch.ones(1, 1))
    assert found.tolist() == [[[0.0, 1.0, 0.0]]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pooling_keeps_the_precision_of_the_score(dtype: torch.dtype) -> None:
    category = padded([[0, 1, 2]], "right")
    members = membership(category, SIZE)
    score = torch.full((1, 1, 3, 3), 1 / 3, dtype=dtype)
    assert over_keys(score, members).dtype == dtype
    assert over_queries(score, members).dtype == dtype
    assert over_neighbours(score, members.sum(-1)).dtype == dtype
