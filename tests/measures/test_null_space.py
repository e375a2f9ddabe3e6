"""Ranks and null spaces of T and [T, 1], against numpy's rank of matrices that are written out."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies
from torch import Tensor

from definitions import transformed
from headlight.measures import null_spaces
from headlight.measures.null_space import with_ones
from headlight.measures.vectors import compressed

WIDTH = 10


def layer(heads: int, kv_heads: int, keys: int, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Values and W^O."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.randn(2, kv_heads, keys, size, generator=generator, dtype=torch.float64)
    output = torch.randn(heads, size, WIDTH, generator=generator, dtype=torch.float64)
    return value, output


def rows_of(value: Tensor, output: Tensor) -> Tensor:
    factor = torch.linalg.qr(output.mT, mode="r")[1].mT
    return compressed(value, factor)


def mask(name: str, keys: int, lengths: tuple[int, int]) -> Tensor | None:
    """Who sees whom, [batch, #query, key]."""
    if name == "none":
        return None
    real = torch.arange(keys) < torch.tensor(lengths)[:, None]
    if name == "padded":
        return real[:, None]
    causal = torch.ones(keys, keys, dtype=torch.bool).tril()
    if name == "causal":
        return causal & real[:, None]
    return causal & causal.triu(-2) & real[:, None]  # a window of three


@pytest.mark.slow
@given(
    name=strategies.sampled_from(["none", "padded", "causal", "window"]),
    sharing=strategies.sampled_from([1, 2]),
    keys=strategies.integers(1, 9),
    size=strategies.integers(1, 4),
    short=strategies.integers(1, 9),
    equal=strategies.booleans(),
    seed=strategies.integers(0, 5),
)
def test_ranks_are_those_of_the_matrices_written_out(
    name: str, sharing: int, keys: int, size: int, short: int, equal: bool, seed: int
) -> None:
    value, output = layer(2, 2 // sharing, keys, size, seed)
    if equal:  # the same token twice: a rank below both sizes
        value[:, :, -1] = value[:, :, 0]
    visible = mask(name, keys, (keys, min(short, keys)))
    found = null_spaces(rows_of(value, output), WIDTH, visible)
    for text in range(2):
        vectors = transformed(value[text].numpy(), output.numpy())
        seen = torch.ones(1, keys, dtype=torch.bool) if visible is None else visible[text]
        for query, head in np.ndindex(seen.shape[0], 2):
            chosen = seen[query].numpy()
            if not chosen.any():
                continue
            t = vectors[head][chosen]
            ones = np.ones((len(t), 1))
            rank, augmented = (np.linalg.matrix_rank(m) for m in (t, np.hstack([t, ones])))
            assert found.keys[text, query] == len(t)
            assert found.rank[text, head, query] == rank
            assert found.rank_with_ones[text, head, query] == augmented
            assert found.dimension[text, head, query] == len(t) - rank
            assert found.dimension_with_ones[text, head, query] == len(t) - augmented
            assert found.bound[text, query] == max(len(t) - size, 0)
            assert found.bound_with_ones[text, query] == max(len(t) - size - 1, 0)
            assert len(t) - rank >= found.bound[text, query]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_the_unit_of_the_values_does_not_matter(scale: float) -> None:
    value, output = layer(2, 2, 9, 3, seed=1)
    found = null_spaces(rows_of(scale * value, output), WIDTH)
    assert found.rank.unique().tolist() == [3]
    assert found.rank_with_ones.unique().tolist() == [4]


def test_a_value_bias_changes_t_and_not_t_with_ones() -> None:
    """[T + 1bᵀ, 1] spans what [T, 1] does: alternatives in the simplex know no bias."""
    value, output = layer(2, 2, 9, 3, seed=2)
    value[..., 2] = 0.0  # without a bias, T has two columns
    bias = torch.tensor([0.3, -0.2, 0.7], dtype=torch.float64)
    without, included = rows_of(value, output), rows_of(value + bias, output)
    bare, biased = null_spaces(without, WIDTH), null_spaces(included, WIDTH)
    assert bare.rank.unique().tolist() == [2]
    assert biased.rank.unique().tolist() == [3]
    assert torch.equal(bare.rank_with_ones, biased.rank_with_ones)
    projections = []
    for rows in (without, included):
        left, values, _ = torch.linalg.svd(with_ones(rows), full_matrices=False)
        basis = left * (values > 1e-12)[..., None, :]
        projections.append(basis @ basis.mT)
    torch.testing.assert_close(*projections, rtol=0, atol=1e-12)
