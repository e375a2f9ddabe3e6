"""What a word is worth to a classifier, by its gradient or without it, and other attention."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.measures import total_variation
from headlight.measures.adversaries import RELEASED, Adversaries, AdversarySearch, most_different
from headlight.training.text_classifier import States, TextBatch, TextClassifier, Weights

PERMUTATIONS = 100
CANDIDATES = 5
"""Attention vectors that are changed at once for each text."""
NOISE = 3.0
"""The standard deviation of the logits that they begin with."""
MOST_STATES = 1 << 14
"""Words that are encoded at a time, where a text is read without each of its words in turn."""

PerWord = Float64[Tensor, "text position"]
PerText = Float64[Tensor, " text"]


def gradient_importance(model: TextClassifier, batch: TextBatch) -> PerWord:
    """|∂p/∂x · x| for the vector x of each word, the weights of attention held fixed.

    It is the derivative of the probability of the second class (of either, but for the sign) by
    the word's entry in a one-hot vector.  Jain and Wallace (2019), Algorithm 1.
    """
    embedded = model.embedding(batch.words).detach().requires_grad_()
    states = model.encode(embedded, batch.real)
    weight = model.attend(states, batch.real).detach()
    probability = model.classify(states, weight).softmax(-1)
    (gradient,) = torch.autograd.grad(probability[:, 1].sum(), [embedded])
    return torch.where(batch.real, (gradient * embedded).sum(-1).abs().detach().double(), 0)


@torch.no_grad()
def leave_one_out(model: TextClassifier, batch: TextBatch) -> PerWord:
    """How far the prediction moves, in total variation, when a word is taken out of its text.

    A text of one word would be empty without it: NaN.
    """
    found = torch.zeros(batch.words.shape, dtype=torch.float64)
    whole = _probability(model, batch.words, batch.real)
    for row, length in enumerate(batch.real.sum(-1).tolist()):
        text = batch.words[row, :length]
        if length == 1:
            found[row, 0] = torch.nan
            continue
        rest = text.expand(length, -1)[~torch.eye(length, dtype=torch.bool)].view(length, -1)
        parts = torch.split(rest, max(1, MOST_STATES // length))
        without = [_probability(model, part, torch.ones_like(part).bool()) for part in parts]
        found[row, :length] = total_variation(torch.cat(without), whole[row].expand(length, -1))
    return found


@torch.no_grad()
def permuted(model: TextClassifier, batch: TextBatch, generator: torch.Generator) -> PerText:
    """How far predictions move when the weights of a text change places: the median of many."""
    states, weight = encoded(model, batch)
    base = model.classify(states, weight).softmax(-1)
    moved = []
    for _ in range(PERMUTATIONS):
        drawn = torch.rand(weight.shape, generator=generator).masked_fill(~batch.real, 2)
        other = model.classify(states, weight.gather(-1, drawn.argsort(-1)))
        moved.append(total_variation(other.softmax(-1), base))
    return torch.stack(moved).double().quantile(0.5, dim=0)


def adversaries(
    model: TextClassifier,
    batch: TextBatch,
    generator: torch.Generator,
    search: AdversarySearch | None = None,
) -> Adversaries:
    """For each text the most different attention whose prediction is within ε.

    Args:
        model: whose attention is replaced; its encoder and its output stay as they are.
        batch: of texts.
        generator: of what the candidates begin with.
        search: by default that of the released code.
    """
    with torch.no_grad():
        states, weight = encoded(model, batch)
        base = model.classify(states, weight).softmax(-1)

    def moved(
        candidates: Float[Tensor, "candidate text row key"],
    ) -> Float[Tensor, "candidate text"]:
        found = model.classify(states, candidates.squeeze(-2)).softmax(-1)
        return total_variation(found, base.expand_as(found))

    shape = (CANDIDATES, len(weight), 1, weight.shape[-1])
    start = NOISE * torch.randn(shape, generator=generator)
    return most_different(moved, weight[:, None], batch.real[:, None], start, search or RELEASED)


def encoded(model: TextClassifier, batch: TextBatch) -> tuple[States, Weights]:
    """The states of the words of texts, and the weights that the model gives them."""
    states = model.encode(model.embedding(batch.words), batch.real)
    return states, model.attend(states, batch.real)


def _probability(model: TextClassifier, words: Tensor, real: Tensor) -> Float64[Tensor, "text c"]:
    logits: Tensor = model(words, real)[0]
    return logits.double().softmax(-1)
