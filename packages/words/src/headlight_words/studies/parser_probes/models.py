"""Probes, which are parsers with few parameters (Clark et al. 2019, Section 5), and training."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.errors import UsageError
from headlight.settings import require_choice
from headlight_words.studies.parser_probes import Alignment, TrainingSettings
from headlight_words.studies.parser_probes.batches import (
    HIDDEN,
    Maps,
    OfPositions,
    ParserBatch,
    ParserData,
    Vectors,
    pair_scores,
    weighted_maps,
)
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD, SPECIALS

Logits = Float[Tensor, "sentence dependent candidate"]
PositionLogits = Float[Tensor, "sentence position position"]

NEAR = (0, -1, 1, -2, 2)


class Parser(nn.Module, ABC):
    """A probe: log p(head | word) up to a constant for each word."""

    @abstractmethod
    def score(self, batch: ParserBatch) -> Logits:
        """Return scores, with any value for candidates that are padding."""

    def forward(self, batch: ParserBatch) -> Logits:
        """Return scores, minus infinity for candidates that are padding."""
        candidate_mask = nn.functional.pad(batch.present, (1, 0), value=True)
        return self.score(batch).masked_fill(~candidate_mask[:, None], -torch.inf)

    @property
    def size(self) -> int:
        """Return the number of learned parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


class _Root(nn.Module):
    """The root's score: two scalars weigh the scores of the special tokens at both ends.

    They are shared by all heads and both directions, as in the authors' code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(_glorot((SPECIALS,), 1, 1))

    def forward(self, given: PositionLogits) -> Logits:
        dependents = given[:, SPECIALS:]
        root = dependents[..., :SPECIALS] @ self.weight
        return torch.cat([root[..., None], dependents[..., SPECIALS:]], dim=-1)


class Attention(Parser):
    """p(j | i) ∝ exp Σ_k w_k α^k_ij + u_k α^k_ji: 2 · heads weights, no bias.

    Source: Clark et al. (2019), Section 5, attention-only probe; i attends to j in α_ij.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(_glorot((2, heads), 2 * heads, 2 * heads))
        self.root = _Root()

    def score(self, batch: ParserBatch) -> Logits:
        """See the class."""
        both = _maps(batch) @ self.weight.T
        logits: Logits = self.root(both[..., 0] + both[..., 1].mT)
        return logits


class AttentionAndWords(Parser):
    """Probe as `Attention`, but the weight of each head is a linear function of the two words.

    p(j | i) ∝ exp Σ_k W_k (v_i ⊕ v_j) α^k_ij + U_k (v_i ⊕ v_j) α^k_ji.  W (v_i ⊕ v_j) falls into a
    part for each of the two words, so that no vector is kept per pair.

    Source: Clark et al. (2019), Section 5.  The formula has no bias, the authors' code has one.

    Args:
        heads: Number of heads of all layers together.
        dimensions: Dimensions of the word vectors, which are not trained.
        bias: Whether to add a weight for each head that is independent of words.
        align_root: Vectors of candidates: the root's is zero and each word has its own
            (``fixed``); or, as in the authors' code, candidate j gets the vector of word j + 1, the
            root that of word 1 and the last word zero (``as_released``).
    """

    def __init__(
        self, heads: int, dimensions: int, bias: bool = True, align_root: Alignment = "fixed"
    ) -> None:
        super().__init__()
        require_choice("align_root", align_root, Alignment)
        self.align_root = align_root
        shape, fans = (2, dimensions, 2, heads), (2 * dimensions, 2 * heads)
        self.weight = nn.Parameter(_glorot(shape, *fans))
        self.bias = nn.Parameter(torch.zeros(2, heads)) if bias else None
        self.root = _Root()

    def score(self, batch: ParserBatch) -> Logits:
        """See the class."""
        maps, vectors = _maps(batch), _vectors(batch)
        # One product for both words of a pair; then each word goes to the places that it has.
        products = vectors @ self.weight.permute(1, 0, 2, 3).flatten(1)
        of_dependents, of_candidates = products.chunk(2, dim=-1)
        dependent = self._split_directions(position_vectors(of_dependents))
        candidate = self._split_directions(position_vectors(of_candidates, self.align_root))
        if self.bias is not None:
            dependent = dependent + self.bias
        # A cell α_xy is part of two scores: y as the head of x, and x as the head of y.
        of_query = torch.stack([dependent[:, :, 0], candidate[:, :, 1]], dim=2)
        of_key = torch.stack([candidate[:, :, 0], dependent[:, :, 1]], dim=2)
        forth, back = weighted_maps(maps, of_query, of_key)
        logits: Logits = self.root(forth + back.mT)
        return logits

    def _split_directions(self, weights: Vectors) -> OfPositions:
        return weights.reshape(*weights.shape[:2], *self.weight.shape[2:])


class DistancesAndWords(Parser):
    """The baseline that sees no attention: distances and two words, one hidden layer of 256, tanh.

    Source: Clark et al. (2019), Section 5 and footnote 5; the eight features as in their code.

    Args:
        dimensions: Dimensions of the word vectors, which are not trained.
        align_root: Vectors of candidates, as in `AttentionAndWords`.
    """

    def __init__(self, dimensions: int, align_root: Alignment = "fixed") -> None:
        super().__init__()
        require_choice("align_root", align_root, Alignment)
        self.align_root = align_root
        inputs = DISTANCES + 2 * dimensions
        self.words = nn.Parameter(_glorot((2, dimensions, HIDDEN), inputs, HIDDEN))
        self.distances = nn.Parameter(_glorot((DISTANCES, HIDDEN), inputs, HIDDEN))
        self.hidden_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = nn.Parameter(_glorot((HIDDEN,), HIDDEN, 1))

    def score(self, batch: ParserBatch) -> Logits:
        """See the class."""
        vectors = _vectors(batch)
        dependent = vectors @ self.words[0] + self.hidden_bias
        # Both special positions carry the root's vector; one of them is enough.
        candidate = position_vectors(vectors, self.align_root)[:, 1:] @ self.words[1]
        features = distance_features(batch)
        return pair_scores(features, self.distances, dependent, candidate, self.out)


DISTANCES = 3 + len(NEAR)


class RightBranching(Parser):
    """Baseline in which each word hangs on the next, the last on the root; nothing is learned.

    Farther words to the right score less, the root less than these, words to the left least: so
    where a tree leaves out some words, the others form a chain.
    """

    def score(self, batch: ParserBatch) -> Logits:
        """See the class."""
        words = batch.heads.shape[1]
        place = torch.arange(words, device=batch.lengths.device, dtype=torch.float32)
        ahead = place[None, :] - place[:, None]
        # The three ranges do not overlap: right of the word, then the root, then left.
        score = torch.where(ahead > 0, -ahead, -2.0 * words - ahead.abs())
        score = nn.functional.pad(score, (1, 0), value=-1.5 * words)
        return score.expand(len(batch.lengths), -1, -1)


def position_vectors(
    vectors: Vectors, align_root: Alignment = "fixed"
) -> Float[Tensor, "sentence position d"]:
    """Return the vector of every candidate; the special tokens, the first two, carry the root's."""
    if align_root == "fixed":
        return nn.functional.pad(vectors, (0, 0, SPECIALS, 0))
    # The authors' code is off by one place: candidates carry the vector of the next word.
    shifted = nn.functional.pad(vectors, (0, 0, 0, 1))
    return torch.cat([shifted[:, :1], shifted], dim=1)


def distance_features(batch: ParserBatch) -> Float[Tensor, "sentence dependent candidate feature"]:
    """Return distances ahead and behind, as shares of the sentence; five near places; the root.

    All but the last are 0 for the root.
    """
    words = batch.heads.shape[1]
    place = torch.arange(words, device=batch.lengths.device)
    offset = place[None, :] - place[:, None]
    share = offset / batch.lengths.clamp_min(1)[:, None, None]
    near = [(offset == near_offset).float().expand_as(share) for near_offset in NEAR]
    pair = torch.stack([share.clamp_min(0), (-share).clamp_min(0), *near], dim=-1)
    features = nn.functional.pad(pair, (0, 1, 1, 0))
    features[:, :, 0, -1] = 1
    return features


def _glorot(shape: tuple[int, ...], fan_in: int, fan_out: int) -> Tensor:
    # Keras' default, and so that of the authors.
    limit = (6 / (fan_in + fan_out)) ** 0.5
    return torch.empty(shape).uniform_(-limit, limit)


def _maps(batch: ParserBatch) -> Maps:
    if batch.maps is None:
        raise UsageError("this probe looks at attention; give the data its word maps.")
    return batch.maps


def _vectors(batch: ParserBatch) -> Vectors:
    if batch.vectors is None:
        raise UsageError("this probe looks at words; give the data word vectors.")
    return batch.vectors


MODELS: dict[str, type[Parser]] = {
    "right_branching": RightBranching,
    "distances_and_words": DistancesAndWords,
    "attention": Attention,
    "attention_and_words": AttentionAndWords,
}


def build(kind: str, options: Mapping[str, Any], seed: int) -> Parser:
    """Return a new probe of a kind of `MODELS`, its weights drawn by this seed alone."""
    with torch.random.fork_rng():
        # Other probes, trained before, must not move the weights that a seed draws.
        torch.manual_seed(seed)
        return MODELS[kind](**options)


EVALUATED = 64
"""Sentences in a batch where nothing is learned."""
_POOL = 64
"""Batches that are sorted by length together."""


@dataclass(frozen=True)
class TrainingHistory:
    """History of a training.

    Attributes:
        losses: Mean cross-entropy in nats per word after each epoch: on the held-out sentences, or
            during the epoch where none are held out.
        best: Epoch whose weights were kept, from 1.
    """

    losses: tuple[float, ...]
    best: int

    @property
    def epochs(self) -> int:
        """Return the number of epochs trained."""
        return len(self.losses)


def loss(logits: Logits, batch: ParserBatch) -> Float[Tensor, ""]:
    """Return the summed cross-entropy of words' heads, in nats; unknown heads do not count."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.heads.flatten(), ignore_index=NO_HEAD, reduction="sum"
    )


def train(model: Parser, data: ParserData, how: TrainingSettings, seed: int) -> TrainingHistory:
    """Train a probe in place, and leave it with the weights that were best on held-out sentences.

    Raises:
        UsageError: There are no sentences to train on, or none could be held out.
    """
    generator = np.random.default_rng(seed)
    training, kept_out = _split(data, how, generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=how.learning_rate, fused=True)
    losses: list[float] = []
    best = 0
    weights = _copied(model)
    for epoch in range(how.epochs):
        during = _epoch(model, optimiser, data, _batches(data, training, how, generator))
        losses.append(mean_loss(model, data, kept_out) if kept_out else during)
        # Without held-out sentences there is nothing to choose by, and the last epoch is kept.
        if not kept_out or losses[epoch] < losses[best] or epoch == 0:
            best, weights = epoch, _copied(model)
        if epoch - best >= how.patience or not math.isfinite(losses[epoch]):
            break
    model.load_state_dict(weights)
    # Epochs are numbered from 1 in results.
    return TrainingHistory(tuple(losses), best + 1)


@torch.inference_mode()
def mean_loss(model: Parser, data: ParserData, numbers: Sequence[int]) -> float:
    """Return the mean cross-entropy per word, in nats, over these sentences."""
    total = words = 0.0
    for some in data.by_length(numbers, EVALUATED):
        batch = data.batch(some)
        total += loss(model(batch), batch).item()
        words += (batch.heads != NO_HEAD).sum().item()
    return total / words if words else math.nan


def _epoch(
    model: Parser, optimiser: torch.optim.Optimizer, data: ParserData, batches: Iterator[list[int]]
) -> float:
    """Train for a pass over the batches, and return the mean loss per word on the way."""
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
    """Return sentences to learn from, in the order of the corpus, and sentences held out."""
    usable = [number for number in range(len(data)) if data.index.lengths[number]]
    count = round(len(usable) * how.held_out)
    # At least one sentence is held out where any is asked for, and one is left to learn from.
    if how.held_out and count in (0, len(usable)):
        count = 1
    if len(usable) - count < 1:
        raise UsageError(
            f"{len(usable)} sentences are too few to train a probe with a part held out."
        )
    out = set(generator.choice(len(usable), size=count, replace=False).tolist())
    training = [number for place, number in enumerate(usable) if place not in out]
    return training, [usable[place] for place in sorted(out)]


def _batches(
    data: ParserData, numbers: Sequence[int], how: TrainingSettings, generator: np.random.Generator
) -> Iterator[list[int]]:
    if not how.shuffle:
        yield from data.in_order(numbers, how.sentences)
        return
    # Lengths are sorted within pools only, so that batches are similar and still random.
    shuffled = generator.permutation(np.array(numbers)).tolist()
    pool = how.sentences * _POOL
    for first in range(0, len(shuffled), pool):
        batches = data.by_length(shuffled[first : first + pool], how.sentences)
        for place in generator.permutation(len(batches)):
            yield batches[place]


def _copied(model: Parser) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
