"""What is missed without a part of a sum, against the definition."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.measures import alti
from headlight.measures.alti import BlockSum, missed_without, missed_without_heads


def norm_1(vector):
    return sum(abs(float(each)) for each in vector)


def test_by_hand():
    total = torch.tensor([3.0, -1.0, 2.0]).expand(3, 3)
    # Without it [1, 0, 4] is left: 6 - 5; and without [-1, -1, 1], [4, 0, 1]: 6 - 5.
    part = torch.tensor([[2.0, -1.0, -2.0], [-1.0, -1.0, 1.0], [-3.0, 1.0, -2.0]])
    assert missed_without(total, part).tolist() == [1.0, 1.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 5),
    st.booleans(),
    st.integers(0, 1000),
)
def test_heads_by_loops(heads, queries, keys, size, causal, seed):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    weight = draw(heads, queries, keys).softmax(-1)
    if causal:
        weight = weight.tril()
    vectors, total = draw(heads, keys, size), draw(queries, size)
    found = missed_without_heads(total, weight, vectors)
    for h in range(heads):
        for i in range(queries):
            for j in range(keys):
                part = weight[h, i, j] * vectors[h, j]
                wanted = max(0.0, norm_1(total[i]) - norm_1(total[i] - part))
                assert float(found[h, i, j]) == pytest.approx(wanted, abs=1e-12)


def test_few_cells_at_a_time(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    weight = torch.rand(2, 5, 7, generator=generator)
    vectors, total = torch.randn(2, 7, 4, generator=generator), torch.randn(5, 4)
    whole = missed_without_heads(total, weight, vectors)
    monkeypatch.setattr(alti, "CELLS", 1)
    np.testing.assert_array_equal(missed_without_heads(total, weight, vectors), whole)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 20), st.integers(1, 9))
def test_what_is_missed_without_tokens_is_as_defined(seed, heads, tokens, size):
    """By the loop and without it; a sum may have components that are 0."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    total = draw(tokens, size) * (draw(tokens, size) > -1)
    weight = draw(heads, tokens, tokens).abs() * (draw(heads, tokens, tokens) > -0.5)
    block = BlockSum(
        total=total,
        given=draw(tokens, size),
        bias=draw(tokens, size),
        weight=weight,
        values=draw(heads, tokens, 3),
        output=draw(heads, 3, size),
        offset=torch.zeros(tokens, size, dtype=torch.float64),
    )
    wanted = torch.zeros(tokens, tokens, dtype=torch.float64)
    for i, j in product(range(tokens), repeat=2):
        part = sum(weight[h, i, j] * (block.values[h, j] @ block.output[h]) for h in range(heads))
        part = part + block.given[i] if i == j else part
        wanted[i, j] = max(0.0, float(total[i].abs().sum() - (total[i] - part).abs().sum()))
    with pytest.MonkeyPatch.context() as patch:
        for least in (0, 1 << 40):
            patch.setattr(alti, "WORTH_IT", least)
            found = alti.missed_without_tokens(block)
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


def test_three_tokens_by_hand():
    """The last token of the example in docs/flow.md: y is (1, 1, -1, -1) behind the norm."""
    found = torch.tensor([[1.0, 1, -1, -1]]).expand(3, 4)
    others = torch.tensor([[0.375, -0.125, -0.125, -0.125], [-0.125, 0.375, -0.125, -0.125]])
    own = torch.tensor([0.75, 0.75, -0.75, -0.75])
    values = torch.cat([others, torch.zeros(1, 4)])[None]  # what token 3 gives is all residual
    nothing = torch.zeros(3, 4)
    weight = torch.ones(1, 3, 3)
    block = BlockSum(found, own.expand(3, 4), nothing, weight, values, torch.eye(4)[None], nothing)
    assert alti.missed_without_tokens(block)[2].tolist() == [0.5, 0.5, 3]
    assert alti.token_shares(block)[2].tolist() == [0.125, 0.125, 0.75]
