"""The loss of an adversary against loops in float64, and its gradient where weights are 0."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from definitions import adversarial_loss as naive_loss
from headlight_papers.training.losses import (
    AdversarialObjective,
    adversarial_loss,
    attention_distance,
)
from headlight_papers.training.model_outputs import Outputs, ValidMask

GOALS = [AdversarialObjective(one, two) for one in ("labels", "tvd") for two in ("kl", "jsd")]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(GOALS),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.floats(0, 10),
    st.integers(0, 2**32 - 1),
)
def test_the_loss_is_its_definition(goal, lengths, weight, seed):
    generator = np.random.default_rng(seed)
    batch, longest = len(lengths), max(lengths)
    real = torch.tensor([[word < length for word in range(longest)] for length in lengths])
    logits = generator.normal(size=(batch, longest, 3))
    taught = generator.dirichlet(np.ones(3), (batch, longest))
    one, other = (generator.dirichlet(np.ones(longest), (batch, 2, longest)) for _ in range(2))
    one[0, 0, 0, 0] = 0
    found = adversarial_loss(
        (torch.tensor(logits), torch.tensor(one)),
        Outputs(torch.tensor(taught), torch.tensor(other)),
        ValidMask(real, real, real),
        weight,
        goal,
    )
    expected = naive_loss(logits, one, taught, other, lengths, weight, goal)
    assert float(found) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_answers_of_texts_and_rows_of_tokens_are_averaged_apart(goal):
    """A classifier has one prediction for a text, and the attention of one row may count."""
    logits, taught = torch.randn(2, 3), torch.randn(2, 3).softmax(-1)
    one, other = (torch.randn(2, 4, 5, 5).softmax(-1) for _ in range(2))
    rows = torch.zeros(2, 5, dtype=torch.bool)
    rows[:, 0] = True
    valid = ValidMask(torch.ones(2).bool(), rows, torch.ones(2, 5).bool())
    found = adversarial_loss((logits, one), Outputs(taught, other), valid, 0.5, goal)
    predictions, expected = (each[:, None].double().numpy() for each in (logits, taught))
    none = np.ones((2, 1, 1, 1))
    near = naive_loss(predictions, none, expected, none, [1, 1], 0.0, goal)
    far = attention_distance(one, other, valid, goal.distance).mean()
    assert float(found) == pytest.approx(near - 0.5 * float(far), rel=1e-5)
    alone = ValidMask(torch.ones(2).bool(), torch.ones(2, 1).bool(), torch.ones(2, 5).bool())
    first = attention_distance(one[:, :, :1], other[:, :, :1], alone, goal.distance)
    torch.testing.assert_close(attention_distance(one, other, valid, goal.distance), first)


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_gradients_are_finite_where_weights_are_zero(goal):
    scores = torch.tensor([[[[0.0, -torch.inf], [3e2, 0.0]]]], requires_grad=True)
    other = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    logits = torch.zeros(1, 2, 2, requires_grad=True)
    real = torch.ones(1, 2, dtype=torch.bool)
    taught = Outputs(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), other)
    loss = adversarial_loss(
        (logits, scores.softmax(-1)), taught, ValidMask(real, real, real), 1.0, goal
    )
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()
    assert torch.isfinite(scores.grad[..., 0]).all()
