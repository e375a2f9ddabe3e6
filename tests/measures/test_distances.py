"""Distances between two distributions against their definitions: sums over entries, in float64."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.measures import jensen_shannon, kullback_leibler, total_variation

LN2 = math.log(2)
TINY = {torch.float32: float(np.finfo(np.float32).tiny), torch.float64: float(np.finfo(float).tiny)}
DISTANCES = (total_variation, kullback_leibler, jensen_shannon)


def naive_total_variation(p, q):
    return math.fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def naive_kullback_leibler(p, q, tiny=TINY[torch.float64]):
    return math.fsum(
        a * (math.log(a) - math.log(max(b, tiny))) for a, b in zip(p, q, strict=True) if a > 0
    )


def naive_jensen_shannon(p, q):
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (naive_kullback_leibler(p, middle) + naive_kullback_leibler(q, middle)) / 2


def rows(shape, seed, zeros=0.4):
    """Distributions of which some entries are exactly 0, one of each row being real."""
    generator = np.random.default_rng(seed)
    size = generator.gamma(0.5, size=shape) * (generator.random(shape) > zeros) + 1e-300
    size[..., 0] += 1e-3
    size[size < 1e-200] = 0
    return torch.from_numpy(size / size.sum(-1, keepdims=True))


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6)),
    seed=st.integers(0, 10**6),
    masked=st.booleans(),
)
def test_against_the_definitions(shape, seed, masked):
    p, q = rows(shape, seed), rows(shape, seed + 1)
    generator = np.random.default_rng(seed)
    real = torch.from_numpy(generator.random((shape[0], 1, shape[2])) > 0.3) if masked else None
    kept = np.broadcast_to(True if real is None else real.numpy(), shape)
    naive = (naive_total_variation, naive_kullback_leibler, naive_jensen_shannon)
    for distance, definition in zip(DISTANCES, naive, strict=True):
        found = distance(p, q, real)
        assert found.shape == shape[:2]
        assert found.dtype == torch.float64
        for place in np.ndindex(shape[:2]):
            one, other = (row[place].numpy()[kept[place]] for row in (p, q))
            assert float(found[place]) == pytest.approx(definition(one, other), rel=1e-9, abs=1e-12)
    if not masked:
        assert (total_variation(p, q) >= 0).all()
        assert (total_variation(p, q) <= 1).all()
        assert (jensen_shannon(p, q) <= LN2).all()
        torch.testing.assert_close(jensen_shannon(p, q), jensen_shannon(q, p))
        for distance in DISTANCES:
            torch.testing.assert_close(distance(p, p), torch.zeros(shape[:2], dtype=torch.float64))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), keys=st.integers(1, 6))
def test_gradients_are_those_of_the_definitions(seed, keys):
    """ln p − ln q + 1 and −p / q; where p or q is 0, the logarithm of the floor is a constant."""
    p, q = (rows((2, keys), seed + each).requires_grad_() for each in (0, 1))
    in_p, in_q = torch.autograd.grad(kullback_leibler(p, q).sum(), (p, q))
    with torch.no_grad():
        floor = TINY[torch.float64]
        expected = p.clamp_min(floor).log() - q.clamp_min(floor).log() + (p > 0).double()
        torch.testing.assert_close(in_p, expected)
        torch.testing.assert_close(in_q, torch.where(q > 0, -p / q.clamp_min(floor), 0.0))
    found = jensen_shannon(p, q)
    inside = ((found > 1e-9) & (found < LN2 - 1e-9))[:, None]  # outside it is clamped
    for row, gradient in zip((p, q), torch.autograd.grad(found.sum(), (p, q)), strict=True):
        assert torch.isfinite(gradient).all()
        with torch.no_grad():
            expected = (2 * row / (p + q)).log() / 2
        seen = inside & (row > 0)
        torch.testing.assert_close(gradient[seen], expected[seen])


def test_exact_zeros_by_hand():
    p, q = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    torch.testing.assert_close(total_variation(p, q), torch.tensor([0.5, 0.5]))
    never = 0.5 * (math.log(0.5) - math.log(TINY[torch.float32])) + 0.5 * math.log(0.5)
    torch.testing.assert_close(kullback_leibler(p, q), torch.tensor([LN2, never]))
    mixed = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) - LN2 / 2
    torch.testing.assert_close(jensen_shannon(p, q), torch.tensor([mixed, mixed]))
    one, other = torch.eye(2)
    assert float(total_variation(one, other)) == 1
    assert float(jensen_shannon(one, other)) == pytest.approx(LN2, rel=1e-7)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_softmax_with_exact_zeros_has_a_finite_gradient(distance, dtype):
    """Masked keys, and logits so low that their weight is 0, of both distributions."""
    logits = torch.tensor([[0.0, -1e4, 1.0, -math.inf], [2.0, 3.0, -1e4, -math.inf]], dtype=dtype)
    logits.requires_grad_()
    other = torch.tensor([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], dtype=dtype)
    for first, second in ((logits.softmax(-1), other), (other, logits.softmax(-1))):
        found = distance(first, second)
        (gradient,) = torch.autograd.grad(found.sum(), logits)
        assert torch.isfinite(found).all()
        assert torch.isfinite(gradient).all()
        assert float(gradient.abs().max()) > 0


@pytest.mark.parametrize("distance", DISTANCES)
def test_what_is_not_real_is_not_looked_at(distance):
    p, q = rows((3, 2, 5), 1), rows((3, 2, 5), 2)
    expected = distance(p, q)
    padded = [torch.nn.functional.pad(row, (0, 2), value=math.nan) for row in (p, q)]
    padded[0].requires_grad_()
    real = torch.arange(7) < 5
    found = distance(*padded, real)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    assert torch.isfinite(padded[0].grad).all()
    assert torch.equal(distance(p, q, torch.zeros(3, 2, 1, dtype=torch.bool)), 0 * expected)


@pytest.mark.parametrize("distance", DISTANCES)
def test_float32_is_near_the_definition(distance):
    p, q = rows((40, 30), 3, zeros=0.0), rows((40, 30), 4, zeros=0.0)
    found = distance(p.float(), q.float())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), distance(p, q), rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("distance", DISTANCES)
def test_distances_can_be_mapped_over_models(distance):
    p, q = rows((4, 3, 5), 5), rows((4, 3, 5), 6)
    torch.testing.assert_close(torch.func.vmap(distance)(p, q), distance(p, q))
