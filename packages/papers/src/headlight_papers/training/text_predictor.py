"""Small classifiers, asked what captured models are asked."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.measures.adversaries import RELEASED, Adversaries, AdversarySearch, Candidates
from headlight.observations.word_importance import Words
from headlight_papers.classifiers.attention_changes import median_change, permuted
from headlight_papers.classifiers.attention_search import search_attention
from headlight_papers.classifiers.predictors import Change, Given, Predicted, Predictions
from headlight_papers.training.text_classifier import TextBatch, TextClassifier

PERMUTATIONS = 100

CANDIDATES = 5
"""Attention vectors that are changed at once for each text."""

NOISE = 3.0
"""Standard deviation of their initial logits."""

MOST_STATES = 1 << 14
"""Words that are encoded at a time, where a text is read without each of its words in turn."""


class TextPredictor:
    """Classifier with a batch of texts, which are encoded once, whatever attention is imposed.

    Args:
        model: Classifier of texts.
        batch: Texts that it reads.
    """

    def __init__(self, model: TextClassifier, batch: TextBatch) -> None:
        self.model = model
        self.batch = batch
        with torch.no_grad():
            self.states = model.encode(model.embedding(batch.words), batch.real)
            self.weight = model.attend(self.states, batch.real)
        self._known: dict[tuple[int, Words], Predicted] = {}

    @torch.no_grad()
    def predictions(self) -> Predictions:
        """Return the predictions with the model's own attention."""
        return self._classified(self.weight)

    @torch.no_grad()
    def with_attention(self, change: Change) -> Predictions:
        """Return the predictions with changed attention, of one layer, head and query."""
        return self._classified(change(self.weight[:, None, None], 0)[:, 0, 0])

    @contextmanager
    def replacing(self) -> Iterator[Given]:
        """Within the block, predict with imposed attention, for several candidates."""
        yield lambda candidates: self._classified(candidates.squeeze(-2))

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """Return the values, since a text has one prediction."""
        return values

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Compute the gradient times the vector of each word; 0 for padding."""
        model, real = self.model, self.batch.real
        embedded = model.embedding(self.batch.words).detach().requires_grad_()
        states = model.encode(embedded, real)
        weight = model.attend(states, real)
        chances = model.classify(states, weight.detach() if attention_fixed else weight).softmax(-1)
        probability = chances.amax(-1) if label is None else chances[:, label]
        (gradient,) = torch.autograd.grad(probability.sum(), [embedded])
        return torch.where(real, (gradient * embedded).sum(-1).detach(), 0)

    @torch.no_grad()
    def ask(self, wanted: Iterable[tuple[int, Words]]) -> None:
        """Read texts without some words, those that are of one length afterwards together.

        A text without all of its words would be empty: NaN.
        """
        missing = [question for question in dict.fromkeys(wanted) if question not in self._known]
        whole = self._probability(self.batch.words, self.batch.real)
        for (text, gone), group in groupby(
            missing, key=lambda question: (question[0], len(question[1]))
        ):
            questions = list(group)
            row = self.batch.words[text][self.batch.real[text]]
            if not gone:
                rows = whole[text : text + 1]
            elif gone == len(row):
                rows = np.full((len(questions), whole.shape[-1]), np.nan)
            else:
                rest = [[at for at in range(len(row)) if at not in words] for _, words in questions]
                # Reading without each word in turn needs as many copies of a text as it has words.
                parts = torch.split(row[torch.tensor(rest)], max(1, MOST_STATES // len(row)))
                chances = [self._probability(part, torch.ones_like(part).bool()) for part in parts]
                rows = np.concatenate(chances)
            self._known |= {
                question: row[None] for question, row in zip(questions, rows, strict=True)
            }

    def without(self, text: int, words: Words) -> Predicted:
        """Return the probabilities of the classes without some words, after `ask`."""
        return self._known[text, words]

    def _classified(self, weight: Float[Tensor, "*copy text position"]) -> Tensor:
        return self.model.classify(self.states, weight).softmax(-1)

    def _probability(self, words: Tensor, real: Tensor) -> Float64[np.ndarray, "text class"]:
        logits: Tensor = self.model(words, real)[0]
        # In float64: the change without one word is a small difference of probabilities.
        return logits.double().softmax(-1).numpy()


def lost_words(predictor: TextPredictor) -> list[Float64[np.ndarray, " word"]]:
    """Return how far predictions move without each word of each text, as total variation distance.

    Source: Jain and Wallace (2019), Section 4.1.
    """
    alone = [
        [frozenset({word}) for word in range(number)]
        for number in predictor.batch.real.sum(-1).tolist()
    ]
    predictor.ask(
        (text, words) for text, sets in enumerate(alone) for words in (frozenset(), *sets)
    )
    moved = []
    for text, sets in enumerate(alone):
        whole = predictor.without(text, frozenset())
        rest = [predictor.without(text, words) for words in sets]
        moved.append(
            np.array([np.abs(whole - probability).sum(-1).mean() / 2 for probability in rest])
        )
    return moved


def permuted_change(
    predictor: TextPredictor, generator: torch.Generator
) -> Float64[np.ndarray, " text"]:
    """Compute the median change of predictions over many permutations of the weights of a text."""
    real, shape = predictor.batch.real, predictor.weight.shape

    def change(weight: Tensor, _: int) -> Tensor:
        noise = torch.rand(shape, generator=generator)
        return permuted(weight, real[:, None, None], noise[:, None, None])

    after = torch.stack([predictor.with_attention(change) for _ in range(PERMUTATIONS)])
    return median_change(predictor.predictions(), after)


def adversaries(
    predictor: TextPredictor, generator: torch.Generator, search: AdversarySearch | None = None
) -> Adversaries:
    """Find for each text the most different attention whose prediction is within ε.

    Args:
        predictor: Predictor whose attention is replaced; its encoder and its output are unchanged.
        generator: Random generator of the initial candidates.
        search: Parameters of the search; by default those of the released code.
    """
    weight, real = predictor.weight, predictor.batch.real
    shape = (CANDIDATES, len(weight), 1, weight.shape[-1])
    start: Candidates = NOISE * torch.randn(shape, generator=generator)
    attention = (weight[:, None], real[:, None], start)
    return search_attention(predictor, predictor.predictions(), attention, search or RELEASED)
