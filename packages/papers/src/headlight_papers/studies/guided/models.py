"""Classifiers that read each token alone, with attention that is given, and their training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray
from torch import nn
from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight.errors import CaptureError, ResultError, setting
from headlight.tensor_files import save_tensors
from headlight_papers.studies.guided import GuidedSettings
from headlight_papers.studies.guided.guides import GuidedText
from headlight_papers.training.learning_rates import rise_and_fall
from headlight_papers.training.random_seeds import seeded
from headlight_papers.training.text_classifier import TextBatch, TextClassifier
from headlight_papers.training.text_encoders import AverageEncoder
from headlight_papers.training.trainer import Trainer, TrainingBatch, TrainingTask

BATCH_SIZE = 32
"""Texts in a step, as in the released code; results hardly hang on it, so no setting."""
OWN = "own"
"""Name of the guide that is none: attention is learnt with the rest."""
AT_ONCE = 256
"""Held-out texts that run together."""


def collate(texts: Sequence[GuidedText], guide: str) -> TrainingBatch[TextBatch]:
    """Pad texts on the right, with the weights of a guide; no weights for `OWN`."""
    longest = max(len(text.ids) for text in texts)
    ids = torch.zeros(len(texts), longest, dtype=torch.int64)
    weights = torch.zeros(len(texts), 1, 1, longest)
    real = torch.zeros(len(texts), longest, dtype=torch.bool)
    for row, text in enumerate(texts):
        size = len(text.ids)
        ids[row, :size] = torch.from_numpy(text.ids)
        real[row, :size] = True
        if guide != OWN:
            weights[row, ..., :size] = torch.from_numpy(text.weights[guide])
    labels = torch.tensor([text.label for text in texts])
    batch = TextBatch(ids, real, labels, torch.arange(len(texts)))
    return TrainingBatch(batch, given=None if guide == OWN else weights)


def token_classifier(tokens: int, width: int, classes: int) -> TextClassifier:
    """Return a classifier of single tokens, with vectors of one width."""
    embedding = nn.Embedding(tokens, width)
    return TextClassifier(embedding, AverageEncoder(width, width), width, width, classes)


@dataclass(frozen=True)
class Job:
    """Model to train.

    Attributes:
        guide: Number of the guide, in the order of the settings.
        seed: Seed of its weights and of the order of texts; alike for all guides.
    """

    guide: int
    seed: int

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"guide-{self.guide}-{self.seed}"


@dataclass(frozen=True, eq=False)
class GuidedTrainer(Trainer[Job, TextClassifier, TextBatch]):
    """Trainer of models with the attention of guides, which keeps their predictions in files.

    Attributes:
        training: Training texts.
        held_out: Held-out texts.
        tokens: Number of token ids.
        classes: Number of classes.
        settings: See `GuidedSettings`.
        folder: Folder of the files.
        kept: Folder in which parameters are kept as well; None if they are not kept.
        tagger: Whether texts are the words of sentences.
    """

    training: Sequence[GuidedText]
    held_out: Sequence[GuidedText]
    tokens: int
    classes: int
    settings: GuidedSettings
    folder: Path
    kept: Path | None = None
    tagger: bool = False

    @property
    def guides(self) -> tuple[str, ...]:
        """Return the names of the sources of attention."""
        return self.settings.guides(tagger=self.tagger)

    @property
    def jobs(self) -> list[list[Job]]:
        """Return the jobs of all models, by guide and seed."""
        guides, seeds = range(len(self.guides)), range(self.settings.repeats)
        return [[Job(guide, seed) for seed in seeds] for guide in guides]

    def begin(self, job: Job) -> TextClassifier:
        """Return a new model of single tokens."""
        return token_classifier(self.tokens, self.settings.width, self.classes)

    def optimizer(self, model: TextClassifier) -> tuple[Adam, LRScheduler]:
        """Return Adam, and a scheduler whose rate rises and falls."""
        adam = Adam(model.parameters(), lr=self.settings.learning_rate)
        # A last batch that is not full takes a step as well.
        steps = self.settings.epochs * -(-len(self.training) // BATCH_SIZE)
        return adam, rise_and_fall(adam, steps)

    def run(self, job: Job) -> None:
        """Train a model, try it, and write its file."""
        guide = self.guides[job.guide]
        task = TrainingTask((self.settings.seed, job.seed))
        # Weights, order and dropout come from the seed alone, alike for every guide.
        with seeded(task.seed):
            model = self.begin(job)
            epochs = self.epochs(
                model, task, self.settings.epochs, lambda orders: self._batches(orders, guide)
            )
            losses = [self._finite(loss, guide) for loss in epochs]
        with torch.no_grad():
            held_out = (
                collate(self.held_out[at : at + AT_ONCE], guide)
                for at in range(0, len(self.held_out), AT_ONCE)
            )
            outputs = [
                model.run(batch.batch, batch.given)[0].double().softmax(-1) for batch in held_out
            ]
        if self.kept:
            arrays = {name: parameter.numpy() for name, parameter in model.state_dict().items()}
            about = {"guide": guide, "seed": job.seed}
            save_tensors(self.kept / f"{job.name}.safetensors", arrays, about, error=ResultError)
        self.save(job, {"probability": torch.cat(outputs)}, {"loss": losses})

    def _batches(
        self, orders: np.random.Generator, guide: str
    ) -> Iterator[TrainingBatch[TextBatch]]:
        order, size = orders.permutation(len(self.training)), BATCH_SIZE
        for at in range(0, len(order), size):
            yield collate([self.training[number] for number in order[at : at + size]], guide)

    def _finite(self, loss: float, guide: str) -> float:
        if not np.isfinite(loss):
            raise CaptureError(
                f"the loss of a model guided by {guide} is not finite; train with a smaller "
                f"learning rate ({setting('learning_rate=')})."
            )
        return loss


def given_weights(trainer: GuidedTrainer) -> xarray.Dataset:
    """Return the weights of each text by each guide, and the predictions of the trained models.

    Returns:
        over ``guide text token`` the weights ``given``, NaN behind a text and of `OWN`; of each
        text its tokens ``input_ids`` (−1 behind it), ``label``, ``text_id`` and whether it was
        ``held_out``; and over ``guide seed text class`` the ``probability``, NaN of texts that were
        learnt from.
    """
    texts = [*trainer.training, *trainer.held_out]
    guides = trainer.guides
    longest = max(len(text.ids) for text in texts)
    ids = np.full((len(texts), longest), -1)
    weights = np.full((len(guides), *ids.shape), np.nan, dtype=np.float32)
    for row, text in enumerate(texts):
        ids[row, : len(text.ids)] = text.ids
        for at, guide in enumerate(guides):
            if guide != OWN:
                weights[at, row, : len(text.ids)] = text.weights[guide]
    learnt = len(trainer.training)
    shape = (len(guides), trainer.settings.repeats, len(texts), trainer.classes)
    probability = np.full(shape, np.nan)
    for seeds in trainer.jobs:
        for job in seeds:
            probabilities = trainer.parameters(job)["probability"]
            probability[job.guide, job.seed, learnt:] = probabilities.numpy()
    return xarray.Dataset(
        {
            "input_ids": (("text", "token"), ids),
            "given": (("guide", "text", "token"), weights),
            "label": ("text", [text.label for text in texts]),
            "text_id": ("text", [text.stream for text in texts]),
            "held_out": ("text", np.arange(len(texts)) >= learnt),
            "probability": (("guide", "seed", "text", "class"), probability),
        },
        coords={"guide": list(guides)},
    )
