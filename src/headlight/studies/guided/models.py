"""A classifier that looks at every token alone, and how it is trained."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from headlight.errors import CaptureError
from headlight.studies.guided.settings import GuidedSettings
from headlight.training import KeptModels
from headlight.training.adversarial import cross_entropy
from headlight.training.schedule import rate

OWN = "own"
"""The guide that is no guide: attention is learnt with the rest."""


@dataclass(frozen=True, eq=False)
class GuidedText:
    """A text, and what each guide gives its tokens.

    Attributes:
        ids: of its tokens, without special ones.
        label: its class.
        stream: a number of its own.
        weights: by guide, a distribution over the tokens; nothing for `OWN`.
    """

    ids: Int64[np.ndarray, " token"]
    label: int
    stream: int
    weights: dict[str, Float32[np.ndarray, " token"]]


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Texts of one batch, padded on the right.

    Attributes:
        ids: of tokens.
        real: what is no padding.
        labels: classes.
        given: the attention of a guide; None where it is learnt.
    """

    ids: Int64[Tensor, "text token"]
    real: Bool[Tensor, "text token"]
    labels: Int64[Tensor, " text"]
    given: Float[Tensor, "text token"] | None

    @classmethod
    def of(cls, texts: Sequence[GuidedText], guide: str) -> "TokenBatch":
        """These texts with what a guide gives them."""
        longest = max(len(text.ids) for text in texts)
        ids = torch.zeros(len(texts), longest, dtype=torch.int64)
        given = torch.zeros(len(texts), longest)
        real = torch.zeros(len(texts), longest, dtype=torch.bool)
        for row, text in enumerate(texts):
            size = len(text.ids)
            ids[row, :size] = torch.from_numpy(text.ids)
            real[row, :size] = True
            if guide != OWN:
                given[row, :size] = torch.from_numpy(text.weights[guide])
        labels = torch.tensor([text.label for text in texts])
        return cls(ids, real, labels, None if guide == OWN else given)


class TokenClassifier(nn.Module):
    """Embedding, affine map and tanh of every token; their weighted sum; a linear map.

    As the MLP of Wiegreffe and Pinter (2019), Section 3.4.  Without attention that is given, a
    token is weighted by the softmax of vᵀ tanh(W h), which is learnt.

    Args:
        tokens: ids that there are.
        width: of all vectors.
        classes: how many there are.
    """

    def __init__(self, tokens: int, width: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.affine = nn.Linear(width, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)
        self.output = nn.Linear(width, classes)

    def forward(self, batch: TokenBatch) -> Float[Tensor, "text label"]:
        """Logits; attention that is given is a constant, and nothing that scores is computed."""
        state = self.affine(self.embedding(batch.ids)).tanh()
        weight = self._learnt(state, batch.real) if batch.given is None else batch.given.detach()
        logits: Tensor = self.output((weight[:, None] @ state).squeeze(1))
        return logits

    def _learnt(
        self, state: Float[Tensor, "text token width"], real: Bool[Tensor, "text token"]
    ) -> Float[Tensor, "text token"]:
        scores = self.score(self.hidden(state).tanh()).squeeze(-1)
        weight: Tensor = scores.masked_fill(~real, -torch.inf).softmax(-1)
        return weight


@dataclass(frozen=True)
class Job:
    """One model.

    Attributes:
        guide: the number of what gives attention, in the order of the settings.
        seed: of its weights and of the order of texts; alike for all guides.
    """

    guide: int
    seed: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"guide-{self.guide}-{self.seed}"


@dataclass(frozen=True, eq=False)
class GuidedTrainer(KeptModels[Job]):
    """Trains models with the attention of guides, and keeps each in a file.

    Attributes:
        training: texts to learn from.
        held_out: texts on which they are tried.
        tokens: ids that there are.
        classes: how many there are.
        settings: see `GuidedSettings`.
        folder: of the files.
    """

    training: Sequence[GuidedText]
    held_out: Sequence[GuidedText]
    tokens: int
    classes: int
    settings: GuidedSettings
    folder: Path

    def run(self, job: Job) -> None:
        """Train a model, try it, and write its file."""
        guide = self.settings.guides[job.guide]
        seed = np.random.SeedSequence((self.settings.seed, job.seed)).generate_state(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(seed[0]))
            model = TokenClassifier(self.tokens, self.settings.width, self.classes)
            losses = self._learn(model, guide, job)
        with torch.no_grad():
            found = [
                model(TokenBatch.of(self.held_out[at : at + 256], guide)).double().softmax(-1)
                for at in range(0, len(self.held_out), 256)
            ]
        self.save(job, {"probability": torch.cat(found)}, {"loss": losses})

    def _learn(self, model: TokenClassifier, guide: str, job: Job) -> list[float]:
        """Train in place; the mean loss of each epoch."""
        settings = self.settings
        optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
        orders = np.random.default_rng((settings.seed, job.seed))
        count = -(-len(self.training) // settings.batch_size)
        losses: list[float] = []
        for epoch in range(settings.epochs):
            total = 0.0
            for place, batch in enumerate(self._batches(orders, guide)):
                share = rate(epoch * count + place, settings.epochs * count)
                optimiser.param_groups[0]["lr"] = settings.learning_rate * share
                loss = cross_entropy(model(batch), batch.labels).mean()
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += float(loss.detach()) * len(batch.labels)
            if not np.isfinite(total):
                raise CaptureError(
                    f"the loss of a model guided by {guide} is not finite; train with a smaller "
                    "learning rate (--learning-rate)."
                )
            losses.append(total / len(self.training))
        return losses

    def _batches(self, orders: np.random.Generator, guide: str) -> Iterator[TokenBatch]:
        order, size = orders.permutation(len(self.training)), self.settings.batch_size
        for at in range(0, len(order), size):
            yield TokenBatch.of([self.training[each] for each in order[at : at + size]], guide)
