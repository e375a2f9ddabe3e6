"""What is missed without a part of a sum, against the definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.measures import parts as measures
from headlight.measures.parts import missed_without, missed_without_heads


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
    monkeypatch.setattr(measures, "CELLS", 1)
    np.testing.assert_array_equal(missed_without_heads(total, weight, vectors), whole)
