"""The most different attention, against the released algorithm as a loop over texts and steps."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from headlight.measures import total_variation
from headlight.measures.adversaries import (
    RELEASED,
    Adversaries,
    AdversarySearch,
    Moved,
    most_different,
)

CANDIDATES, KEYS, WIDTH = 3, 5, 4


class Toy:
    """Texts whose prediction is a sigmoid of attention over hidden states, in float64."""

    def __init__(self, lengths: tuple[int, ...], sharpness: float = 1.0) -> None:
        generator = torch.Generator().manual_seed(3)
        texts = len(lengths)
        self.hidden = torch.randn(texts, KEYS, WIDTH, generator=generator, dtype=torch.float64)
        self.direction = sharpness * torch.randn(WIDTH, generator=generator, dtype=torch.float64)
        self.keys = torch.tensor([[at < length for at in range(KEYS)] for length in lengths])
        logits = torch.randn(texts, KEYS, generator=generator, dtype=torch.float64)
        self.weight = logits.masked_fill(~self.keys, -torch.inf).softmax(-1)
        shape = (CANDIDATES, texts, 1, KEYS)
        self.start = 3 * torch.randn(shape, generator=generator, dtype=torch.float64)

    def probability(self, weight: Tensor) -> Tensor:
        """Of the first of two classes; of any weights, ``… text key``."""
        return ((weight[..., None] * self.hidden).sum(-2) @ self.direction).sigmoid()

    def moved(self, candidates: Tensor) -> Tensor:
        new, own = self.probability(candidates[:, :, 0]), self.probability(self.weight)
        return total_variation(
            torch.stack([new, 1 - new], -1),
            torch.stack([own, 1 - own], -1).expand(len(new), -1, -1),
        )

    def search(self, asked: AdversarySearch, moved: Moved | None = None) -> Adversaries:
        return most_different(
            moved or self.moved, self.weight[:, None], self.keys[:, None], self.start, asked
        )


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """JSD key by key."""
    total = p.new_zeros(())
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        total = total + (a * (a / middle).log() + b * (b / middle).log()) / 2
    return total


def released(toy: Toy, text: int, steps: int, rate: float) -> tuple[float, float]:
    """JSD and distance of one text: all steps, all candidates, with Adam written out."""
    seen = toy.keys[text]
    hidden, own = toy.hidden[text][seen], toy.weight[text][seen]
    before = (own @ hidden @ toy.direction).sigmoid()
    logits = toy.start[:, text, 0][:, seen].clone()
    mean, square, highest = (torch.zeros_like(logits) for _ in range(3))
    found = (0.0, 0.0)
    for step in range(1, steps + 1):
        leaf = logits.clone().requires_grad_()
        rows = [row.softmax(-1) for row in leaf]
        distances = [((row @ hidden @ toy.direction).sigmoid() - before).abs() for row in rows]
        apart = [divergence(row, own) for row in rows]
        loss = torch.zeros((), dtype=torch.float64)
        for distance, far in zip(distances, apart, strict=True):
            loss = loss - far + 500 * torch.clamp_min(distance - 0.01, 0)
        for row in rows:
            for other in rows:
                if row is not other:
                    loss = loss - divergence(row, other) / CANDIDATES**2
        found = max(
            [(0.0, 0.0)]
            + [
                (far.item(), distance.item())
                for far, distance in zip(apart, distances, strict=True)
                if distance <= 0.05
            ]
        )
        (gradient,) = torch.autograd.grad(loss, leaf)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        highest = torch.maximum(highest, square)
        scale = (highest / (1 - 0.999**step)).sqrt() + 1e-8
        logits = logits - rate * (mean / (1 - 0.9**step)) / scale
    return found


@pytest.mark.parametrize("lengths", [(5, 3), (2,)])
def test_it_is_the_released_algorithm(lengths: tuple[int, ...]) -> None:
    toy = Toy(lengths)
    found = toy.search(replace(RELEASED, steps=25))
    for text in range(len(lengths)):
        jsd, moved = released(toy, text, 25, RELEASED.learning_rate)
        assert float(found.jsd[text]) == pytest.approx(jsd, abs=1e-9)
        assert float(found.moved[text]) == pytest.approx(moved, abs=1e-9)
    assert found.steps.tolist() == [25] * len(lengths)
    assert (RELEASED.steps, RELEASED.margin, RELEASED.epsilon) == (500, 0.01, 0.05)


def test_what_is_found_is_what_it_is_said_to_be() -> None:
    toy = Toy((5, 4, 3))
    found = toy.search(AdversarySearch(steps=60))
    weight = found.weight[:, 0]
    np.testing.assert_allclose(weight.sum(-1), 1)
    assert (weight[~toy.keys] == 0).all()
    after, before = toy.probability(weight), toy.probability(toy.weight)
    np.testing.assert_allclose(found.moved, (after - before).abs())
    assert (found.moved <= 0.05).all()
    for text, seen in enumerate(toy.keys):
        apart = divergence(weight[text][seen], toy.weight[text][seen])
        assert float(found.jsd[text]) == pytest.approx(float(apart))
        assert 0.1 < float(apart) < math.log(2)


def test_nothing_depends_on_the_other_texts() -> None:
    toy, asked = Toy((5, 3)), AdversarySearch(steps=40, patience=5)
    together = toy.search(asked)
    for text in range(2):
        part = Toy((5, 3))
        rows = slice(text, text + 1)
        part.hidden, part.keys = toy.hidden[rows], toy.keys[rows]
        part.weight, part.start = toy.weight[rows], toy.start[:, rows]
        alone = part.search(asked)
        assert float(alone.jsd[0]) == pytest.approx(float(together.jsd[text]), abs=1e-6)
        assert int(alone.steps[0]) == int(together.steps[text])


def test_the_best_of_all_steps_is_no_worse_than_the_last() -> None:
    toy = Toy((5, 4, 3), sharpness=4)
    last = toy.search(replace(RELEASED, steps=30))
    best = toy.search(replace(RELEASED, steps=30, take="best"))
    assert (best.jsd >= last.jsd).all()


def test_an_answer_that_always_moves_leaves_attention_as_it_is() -> None:
    toy = Toy((5, 3))
    for take in ("best", "last"):
        search = AdversarySearch(take=take, steps=3)
        found = toy.search(search, lambda candidates: toy.moved(candidates) * 0 + 1)
        assert torch.equal(found.weight, toy.weight[:, None])
        assert found.jsd.tolist() == found.moved.tolist() == [0, 0]


def test_an_answer_that_never_moves_lets_attention_go_to_the_bound() -> None:
    """Own attention is on one key: all the rest is free, and ln 2 away."""
    toy = Toy((5,))
    toy.weight = torch.eye(KEYS, dtype=torch.float64)[:1]
    found = toy.search(
        AdversarySearch(patience=None, steps=60), lambda candidates: candidates.sum((-1, -2)) * 0
    )
    assert float(found.jsd[0]) == pytest.approx(math.log(2), abs=0.02)


def test_a_text_is_done_when_its_loss_stands_still() -> None:
    toy = Toy((5,))
    toy.weight[:] = torch.eye(KEYS, dtype=torch.float64)[0]
    found = toy.search(
        AdversarySearch(patience=7, learning_rate=1e-9),
        lambda candidates: candidates.sum(2)[..., 0] * 0,
    )
    assert found.steps.tolist() == [8]


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_rows_and_keys_that_take_no_part_stay(keys: list[list[bool]], seed: int) -> None:
    """Also where no row takes part at all, and with finite numbers everywhere."""
    generator = torch.Generator().manual_seed(seed)
    free = torch.tensor(keys)[None]
    weight = torch.randn(1, len(keys), 4, generator=generator).softmax(-1)
    start = torch.randn(2, *weight.shape, generator=generator)
    found = most_different(
        lambda candidates: candidates.square().sum((-1, -2)) * 0.01,
        weight, free, start, AdversarySearch(steps=5, learning_rate=0.5),
    )  # fmt: skip
    able = free & (free.sum(-1, keepdim=True) > 1)
    assert torch.equal(found.weight[~able], weight[~able])
    np.testing.assert_allclose(found.weight.sum(-1), 1, rtol=1e-5)
    assert bool(found.jsd.isfinite().all())
    assert bool(able.any()) or found.jsd.tolist() == [0]
