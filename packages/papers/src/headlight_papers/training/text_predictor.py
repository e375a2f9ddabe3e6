"""Small classifiers, asked what captured models are asked; other attention; parts of texts."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.analysis import ClassifierSettings
from headlight.analysis.classifier_predictions import (
    Change,
    Component,
    Given,
    Predicted,
    Predictions,
    Words,
    median_change,
    name_of,
    search_attention,
)
from headlight.analysis.classifier_study import Classified, plan_classifier_study
from headlight.analysis.plan import StudyPlan, share_read
from headlight.capture import AttentionSite, Classes
from headlight.errors import CorpusError, setting
from headlight.measures.alternatives import RELEASED, Adversaries, AdversarySearch, Candidates
from headlight.run.example import NOTHING_SEEN, digest_with
from headlight.tensors import Weight
from headlight_papers.training.text_classifier import TextBatch, TextClassifier

PERMUTATIONS = 100
CANDIDATES = 5
"""Attention vectors that are changed at once for each text."""
NOISE = 3.0
"""The standard deviation of the logits that they begin with."""
MOST_STATES = 1 << 14
"""Words that are encoded at a time, where a text is read without each of its words in turn."""


class TextPredictor:
    """A classifier with a batch of texts, which are encoded once, whatever attention is given.

    Args:
        model: any.
        batch: what it reads.
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
        """As it is."""
        return self._classified(self.weight)

    @torch.no_grad()
    def with_attention(self, change: Change) -> Predictions:
        """Return the predictions with changed attention, of one layer, head and query."""
        return self._classified(change(self.weight[:, None, None], 0)[:, 0, 0])

    @contextmanager
    def replacing(self) -> Iterator[Given]:
        """Within the block, predictions with attention that is given, for several candidates."""
        yield lambda candidates: self._classified(candidates.squeeze(-2))

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """A text has one prediction."""
        return values

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Gradient times the vector of each word; nothing of padding."""
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
        """Read texts without words, those that are of one length afterwards together.

        A text without all of its words would be empty: NaN.
        """
        missing = [each for each in dict.fromkeys(wanted) if each not in self._known]
        whole = self._probability(self.batch.words, self.batch.real)
        for (text, gone), group in groupby(missing, key=lambda each: (each[0], len(each[1]))):
            questions = list(group)
            row = self.batch.words[text][self.batch.real[text]]
            if not gone:
                rows = whole[text : text + 1]
            elif gone == len(row):
                rows = np.full((len(questions), whole.shape[-1]), np.nan)
            else:
                rest = [[at for at in range(len(row)) if at not in words] for _, words in questions]
                parts = torch.split(row[torch.tensor(rest)], max(1, MOST_STATES // len(row)))
                chances = [self._probability(part, torch.ones_like(part).bool()) for part in parts]
                rows = np.concatenate(chances)
            self._known |= {each: row[None] for each, row in zip(questions, rows, strict=True)}

    def without(self, text: int, words: Words) -> Predicted:
        """The probabilities of the classes, once they were asked for."""
        return self._known[text, words]

    def _classified(self, weight: Float[Tensor, "*copy text position"]) -> Tensor:
        return self.model.classify(self.states, weight).softmax(-1)

    def _probability(self, words: Tensor, real: Tensor) -> Float64[np.ndarray, "text class"]:
        logits: Tensor = self.model(words, real)[0]
        return logits.double().softmax(-1).numpy()


def lost_words(predictor: TextPredictor) -> list[Float64[np.ndarray, " word"]]:
    """Return how far predictions move without each word of each text, as total variation distance.

    Source: Jain and Wallace (2019), Section 4.1.
    """
    alone = [
        [frozenset({word}) for word in range(number)]
        for number in predictor.batch.real.sum(-1).tolist()
    ]
    predictor.ask((text, words) for text, own in enumerate(alone) for words in (frozenset(), *own))
    moved = []
    for text, own in enumerate(alone):
        whole = predictor.without(text, frozenset())
        rest = [predictor.without(text, words) for words in own]
        moved.append(np.array([np.abs(whole - each).sum(-1).mean() / 2 for each in rest]))
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
    """For each text the most different attention whose prediction is within ε.

    Args:
        predictor: whose attention is replaced; its encoder and its output stay as they are.
        generator: of what the candidates begin with.
        search: by default that of the released code.
    """
    weight, real = predictor.weight, predictor.batch.real
    shape = (CANDIDATES, len(weight), 1, weight.shape[-1])
    start: Candidates = NOISE * torch.randn(shape, generator=generator)
    attention = (weight[:, None], real[:, None], start)
    return search_attention(predictor, predictor.predictions(), attention, search or RELEASED)


# Other attention for the same text: the weights of each row, moved among some of its keys.  The
# weights of all other keys stay as they are; what a row gives to those that take part stays the
# same in sum.

Keys = Bool[Tensor, "batch #head query key"]
"""Mask of the keys that take part in each row."""

Noise = Float[Tensor, "batch head query key"]
"""Random numbers from 0 to 1, all different."""

BEHIND = 2.0
"""Sorts behind all noise."""


def permuted(weight: Weight, keys: Keys, noise: Noise) -> Weight:
    """Return the weights permuted over the same keys, in the random order of the noise."""
    wide = keys.expand(weight.shape)
    places = (~wide).byte().argsort(dim=-1, stable=True)
    drawn = noise.masked_fill(~wide, BEHIND).argsort(dim=-1, stable=True)
    return torch.empty_like(weight).scatter_(-1, places, weight.gather(-1, drawn))


def uniform(weight: Weight, keys: Keys) -> Weight:
    """Return the same weight for every key."""
    share = _mass(weight, keys) / keys.sum(-1, keepdim=True).clamp_min(1)
    return torch.where(keys, share, weight)


def on_one(weight: Weight, keys: Keys, order: Float[Tensor, "batch head query key"]) -> Weight:
    """All weight on the key that comes last in an order: the weights themselves, or noise."""
    wide = keys.expand(weight.shape)
    chosen = order.masked_fill(~wide, -torch.inf).argmax(-1, keepdim=True)
    one = torch.zeros_like(weight).scatter_(-1, chosen, 1.0)
    return torch.where(keys, one * _mass(weight, keys), weight)


def _mass(weight: Weight, keys: Keys) -> Float[Tensor, "batch head query 1"]:
    """Return the total weight of a row on the keys that take part."""
    mass: Float[Tensor, "batch head query 1"] = (weight * keys).sum(-1, keepdim=True)
    return mass


def sampled_points(
    rows: Float64[np.ndarray, "text cell"],
    quantities: Sequence[str],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ``points`` of texts over ``point``, ``quantity`` and ``place``, and all coordinates.

    Args:
        rows: a text each, every quantity at every component; those that end with NaN are left out.
        quantities: of a text.
        components: whose attention is replaced; they name the places, and layers and heads.
        sites: the layers under study.
    """
    finite = rows[np.isfinite(rows[:, -1])]
    points = finite.reshape(len(finite), len(quantities), len(components))
    coordinates: dict[str, Any] = {
        "quantity": list(quantities),
        "place": list(map(name_of, components)),
        "layer": [site.layer for site in sites],
    }
    if any(head is not None for _, head in components):
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    return {"points": (("point", "quantity", "place"), points)}, coordinates


HELD_OUT = 0.2
"""The share of texts that are held out where no others are named."""

Texts = list[Classified]


def split_texts(
    plan: StudyPlan[Classified],
    classes: Classes,
    settings: ClassifierSettings,
    held_out: str | None,
) -> tuple[Texts, Texts, dict[str, int | float]]:
    """Texts to learn from, others on which everything is measured, and how much that is.

    Args:
        plan: of the study; it is read once.
        classes: what the model tells apart.
        settings: those of the study.
        held_out: other texts; None for a fifth of them, drawn with the seed.

    Raises:
        CorpusError: there are too few, or all to learn from are of one class.
    """
    training = list(islice(plan.examples, plan.max_examples))
    counts = [plan.examples.counts]
    ended = len(training) == plan.max_examples
    share = share_read(plan.corpus, counts[0].documents if ended else None)
    if held_out is None:
        if len(training) < 2:
            raise CorpusError(
                f"{plan.source} holds {len(training)} texts, and some are held out; "
                f"{plan.if_empty} Else give more, or others with {setting('held_out=')}."
            )
        order = np.random.default_rng(settings.seed).permutation(len(training))
        cut = max(1, round(HELD_OUT * len(training)))
        training, tried = (
            [training[at] for at in sorted(places)] for places in (order[cut:], order[:cut])
        )
    else:
        other, _ = plan_classifier_study(plan.name, plan.title, held_out, plan.model, settings)
        tried = list(islice(other.examples, plan.max_examples))
        counts.append(other.examples.counts)
        for part, name in ((training, plan.source), (tried, held_out)):
            if not part:
                raise CorpusError(f"{name}: no example could be made of it; {plan.if_empty}")
    labels = {label for example in training for label in example.labels}
    if len(labels) < 2:
        only = classes.names[min(labels)]
        raise CorpusError(
            f"{plan.source}: all {len(training)} texts to learn from are of the class {only!r}; "
            "give texts of at least two."
        )
    read = {
        **share,
        "examples": len(training),
        "held_out": len(tried),
        "tokens": sum(len(text.ids) for text in (*training, *tried)),
        **{name: sum(each.not_read()[name] for each in counts) for name in counts[0].not_read()},
    }
    return training, tried, read


def digest_of(*parts: Sequence[Classified]) -> str:
    """Return the digest of texts and labels."""
    digest = NOTHING_SEEN
    for part in parts:
        for example in part:
            digest = digest_with(digest, example)
        labels = json.dumps([example.labels for example in part])
        digest = hashlib.sha256(f"{digest} {labels}".encode()).hexdigest()
    return digest
