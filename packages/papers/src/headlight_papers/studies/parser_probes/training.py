"""Training a probe: Adam, early stopping on sentences held out, the best weights kept."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.errors import UsageError
from headlight_papers.studies.parser_probes import TrainingSettings
from headlight_papers.studies.parser_probes.batches import ParserBatch, ParserData
from headlight_papers.studies.parser_probes.models import Logits, Parser
from headlight_papers.studies.word_maps.store import NO_HEAD

EVALUATED = 64
"""Sentences in a batch where nothing is learned."""
_POOL = 64
"""Batches that are sorted by length together."""


@dataclass(frozen=True)
class TrainingHistory:
    """History of a training.

    Attributes:
        losses: mean cross-entropy in nats per word after each epoch: on the held-out sentences, or
            during the epoch where none are held out.
        best: the epoch whose weights were kept, from 1.
    """

    losses: tuple[float, ...]
    best: int

    @property
    def epochs(self) -> int:
        """Epochs trained."""
        return len(self.losses)


def loss(logits: Logits, batch: ParserBatch) -> Float[Tensor, ""]:
    """Sum over words of the cross-entropy of their heads, in nats; unknown heads count nothing."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.heads.flatten(), ignore_index=NO_HEAD, reduction="sum"
    )


def train(model: Parser, data: ParserData, how: TrainingSettings, seed: int) -> TrainingHistory:
    """Train a probe in place, and leave it with the weights that were best on what was held out.

    Raises:
        UsageError: there is nothing to train on, or nothing could be held out.
    """
    generator = np.random.default_rng(seed)
    seen, kept_out = _split(data, how, generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=how.learning_rate, fused=True)
    losses: list[float] = []
    best = 0
    weights = _copied(model)
    for epoch in range(how.epochs):
        during = _epoch(model, optimiser, data, _batches(data, seen, how, generator))
        losses.append(mean_loss(model, data, kept_out) if kept_out else during)
        if not kept_out or losses[epoch] < losses[best] or epoch == 0:
            best, weights = epoch, _copied(model)
        if epoch - best >= how.patience or not math.isfinite(losses[epoch]):
            break
    model.load_state_dict(weights)
    return TrainingHistory(tuple(losses), best + 1)


@torch.inference_mode()
def mean_loss(model: Parser, data: ParserData, numbers: Sequence[int]) -> float:
    """Mean cross-entropy per word, in nats, over these sentences."""
    total = words = 0.0
    for some in data.by_length(numbers, EVALUATED):
        batch = data.batch(some)
        total += loss(model(batch), batch).item()
        words += (batch.heads != NO_HEAD).sum().item()
    return total / words if words else math.nan


def _epoch(
    model: Parser,
    optimiser: torch.optim.Optimizer,
    data: ParserData,
    batches: Iterator[list[int]],
) -> float:
    """One pass; the mean loss per word on the way."""
    total = words = 0.0
    for numbers in batches:
        batch = data.batch(numbers)
        optimiser.zero_grad(set_to_none=True)
        cost = loss(model(batch), batch)
        cost.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += cost.item()
        words += (batch.heads != NO_HEAD).sum().item()
    return total / words if words else math.nan


def _split(
    data: ParserData, how: TrainingSettings, generator: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Sentences to learn from, in the order of the corpus, and sentences held out."""
    usable = [number for number in range(len(data)) if data.index.lengths[number]]
    count = round(len(usable) * how.held_out)
    if how.held_out and count in (0, len(usable)):
        count = 1
    if len(usable) - count < 1:
        raise UsageError(
            f"{len(usable)} sentences are too few to train a probe with a part held out."
        )
    out = set(generator.choice(len(usable), size=count, replace=False).tolist())
    seen = [number for place, number in enumerate(usable) if place not in out]
    return seen, [usable[place] for place in sorted(out)]


def _batches(
    data: ParserData, numbers: Sequence[int], how: TrainingSettings, generator: np.random.Generator
) -> Iterator[list[int]]:
    if not how.shuffle:
        yield from data.in_order(numbers, how.sentences)
        return
    shuffled = generator.permutation(np.array(numbers)).tolist()
    pool = how.sentences * _POOL
    for first in range(0, len(shuffled), pool):
        batches = data.by_length(shuffled[first : first + pool], how.sentences)
        for place in generator.permutation(len(batches)):
            yield batches[place]


def _copied(model: Parser) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
