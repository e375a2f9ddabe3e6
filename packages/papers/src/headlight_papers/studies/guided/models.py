"""Classifiers that read each token alone, guides that give them attention, and their training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn
from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight.analysis.batch_size import batch_tokens
from headlight.analysis.classifier_outputs import LabelPositions
from headlight.analysis.labelled_texts import Classified
from headlight.analysis.positions import Texts
from headlight.analysis.random_numbers import random_source
from headlight.analysis.word_importance import AttentionImportance, share_of_rows
from headlight.capture import AttentionSite, CapturedModel, attribute, load_model
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.errors import CaptureError, ResultError, UsageError, setting
from headlight.tensor_files import save_tensors
from headlight_papers.classifiers.predictors import CapturedPredictor
from headlight_papers.studies.guided import GuidedSettings, of_model
from headlight_papers.training.text_classifier import AverageEncoder, TextBatch, TextClassifier
from headlight_papers.training.trainer import (
    Trainer,
    TrainingBatch,
    TrainingTask,
    rise_and_fall,
    seeded,
)

BATCH_SIZE = 32
"""Texts in a step, as in the released code; results hardly hang on it, so no setting."""
OWN = "own"
"""The guide that is no guide: attention is learnt with the rest."""
AT_ONCE = 256
"""Held-out texts that run together."""


@dataclass(frozen=True, eq=False)
class GuidedText:
    """A text, or a word of a sentence, and what each guide gives the tokens.

    Attributes:
        ids: of the tokens, without special ones.
        label: the class of the text or of the word.
        stream: a number of its own; words of a sentence share one.
        weights: by guide, a distribution over the tokens; nothing for `OWN`.
    """

    ids: Int64[np.ndarray, " token"]
    label: int
    stream: int
    weights: dict[str, Float32[np.ndarray, " token"]]


def collate(texts: Sequence[GuidedText], guide: str) -> TrainingBatch[TextBatch]:
    """Texts padded on the right, with what a guide gives them; nothing of `OWN`."""
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
    """One model.

    Attributes:
        guide: the number of what gives attention, in the order of the settings.
        seed: of its weights and of the order of texts; alike for all guides.
    """

    guide: int
    seed: int

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"guide-{self.guide}-{self.seed}"


@dataclass(frozen=True, eq=False)
class GuidedTrainer(Trainer[Job, TextClassifier, TextBatch]):
    """Trains models with the attention of guides, and keeps their predictions in files.

    Attributes:
        training: texts to learn from.
        held_out: texts on which they are tried.
        tokens: ids that there are.
        classes: how many there are.
        settings: see `GuidedSettings`.
        folder: of the files.
        kept: the folder in which the parameters are kept as well; None for nowhere.
        tagger: whether texts are the words of sentences.
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
        """All models, by guide and seed."""
        guides, seeds = range(len(self.guides)), range(self.settings.repeats)
        return [[Job(guide, seed) for seed in seeds] for guide in guides]

    def begin(self, job: Job) -> TextClassifier:
        """A new model of single tokens."""
        return token_classifier(self.tokens, self.settings.width, self.classes)

    def optimizer(self, model: TextClassifier) -> tuple[Adam, LRScheduler]:
        """Adam with a rate that rises and falls."""
        adam = Adam(model.parameters(), lr=self.settings.learning_rate)
        steps = self.settings.epochs * -(-len(self.training) // BATCH_SIZE)
        return adam, rise_and_fall(adam, steps)

    def run(self, job: Job) -> None:
        """Train a model, try it, and write its file."""
        guide = self.guides[job.guide]
        task = TrainingTask((self.settings.seed, job.seed))
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
                model.run(each.batch, each.given)[0].double().softmax(-1) for each in held_out
            ]
        if self.kept:
            arrays = {name: each.numpy() for name, each in model.state_dict().items()}
            about = {"guide": guide, "seed": job.seed}
            save_tensors(self.kept / f"{job.name}.safetensors", arrays, about, error=ResultError)
        self.save(job, {"probability": torch.cat(outputs)}, {"loss": losses})

    def _batches(
        self, orders: np.random.Generator, guide: str
    ) -> Iterator[TrainingBatch[TextBatch]]:
        order, size = orders.permutation(len(self.training)), BATCH_SIZE
        for at in range(0, len(order), size):
            yield collate([self.training[each] for each in order[at : at + size]], guide)

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


Weights = Float32[np.ndarray, " token"]
Rows = Float[Tensor, "batch word key"]


def guided_texts(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool = False,
) -> list[GuidedText]:
    """Texts, or all words of the sentences of a tagger, in order, with what every guide gives them.

    Raises:
        UsageError: a further model has another tokenizer.
    """
    texts = [list(_plain(each, model, sites, settings, itself=tagger)) for each in examples]
    if settings.measures:
        for text, word, name, weight in _measured(examples, model, sites, settings, tagger=tagger):
            texts[text][word].weights[name] = weight
    for other in settings.also:
        reader = _also(other, model)
        places = reader.sites_of(sites[0].kind, settings.layers)
        alone = settings.replace(measures=("weight",))
        for text, word, _, weight in _measured(examples, reader, places, alone, tagger=tagger):
            texts[text][word].weights[of_model(other)] = weight
    return [word for words in texts for word in words]


def _plain(
    example: Classified,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    itself: bool,
) -> Iterator[GuidedText]:
    """A text, or the words of a sentence, with the guides that need no model."""
    stream = Texts.of(model.collate([example]), [example], sites[0].kind).text_ids[0]
    tokens = tokens_of(example)
    ids = np.array(example.ids, dtype=np.int64)[tokens]
    for word, label in enumerate(example.labels):
        drawn = random_source(settings.seed, stream, draw=word).random(len(ids))
        weights = {"uniform": share(np.ones(len(ids))), "random": share(drawn)}
        if itself:
            weights["itself"] = share(np.array(tokens) == example.places[word])
        yield GuidedText(ids, label, stream, weights)


def tokens_of(example: Classified) -> list[int]:
    """The places of all but special tokens; of a text without others, of these."""
    words = [place for place, word in enumerate(example.words) if word >= 0]
    return words or list(range(len(example.ids)))


def share(sizes: Any) -> Weights:
    """Sizes as a distribution, even where there is nothing."""
    size = np.abs(np.asarray(sizes, dtype=np.float64))
    whole = size.sum()
    shares = size / whole if whole > 0 else np.full(len(size), 1 / len(size))
    return shares.astype(np.float32)


def _measured(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool,
) -> Iterator[tuple[int, int, str, Weights]]:
    """Number of the text, that of the word, measure, and what it gives the tokens."""
    for chosen in length_batches(examples, batch_tokens(model, settings)):
        some = [examples[at] for at in chosen]
        for name, rows in _rows(some, model, sites, settings, tagger=tagger).items():
            values = rows.detach().cpu().double().numpy()
            for row, at in enumerate(chosen):
                for word in range(len(examples[at].labels)):
                    yield at, word, name, share(values[row, word][tokens_of(examples[at])])


def _rows(
    examples: Sequence[Classified],
    model: CapturedModel,
    sites: Sequence[AttentionSite],
    settings: GuidedSettings,
    *,
    tagger: bool,
) -> dict[str, Rows]:
    """Return each measure's values for the tokens of a batch: a row for each text, or each word.

    The rows of a tagger are arbitrary behind a sentence's last word.
    """
    batch, kind = model.collate(examples), sites[0].kind
    longest = max(len(example.labels) for example in examples)
    joined = None if tagger else Texts.of(batch, examples, kind).rows(settings.rows)
    by_guide: dict[str, Float[Tensor, "batch ..."]] = {}
    of_attention = [name for name in settings.measures if name in ("weight", "norm", "effective")]
    if of_attention:
        importance = AttentionImportance(joined, of_attention)
        with model.capture(sites) as recorder:
            recorder.visit = importance.visit
            model.run(batch)
        by_guide |= importance.found()
    if "attribution" in settings.measures:
        contribution = attribute(model, batch, settings.attribution, kind=kind).contribution[-1]
        by_guide["attribution"] = share_of_rows(contribution, joined)
    if tagger:
        places = torch.tensor(
            [
                [example.places[min(at, len(example.places) - 1)] for at in range(longest)]
                for example in examples
            ],
            device=model.transformer.device,
        )
        texts = torch.arange(len(examples), device=places.device)[:, None]
        by_word = {name: values[texts, places] for name, values in by_guide.items()}
    else:
        by_word = {name: values[:, None] for name, values in by_guide.items()}
    if "gradient_input" in settings.measures:
        readings = [_of_one_word(examples, word) if tagger else examples for word in range(longest)]
        by_word["gradient_input"] = torch.stack(
            [_gradient(each, batch, model, sites) for each in readings], 1
        )
    return by_word


def _of_one_word(examples: Sequence[Classified], word: int) -> list[Classified]:
    """Sentences with the label of one word alone; of the last one where they are shorter."""
    at = [min(word, len(example.labels) - 1) for example in examples]
    return [
        replace(example, labels=(example.labels[one],), places=(example.places[one],))
        for example, one in zip(examples, at, strict=True)
    ]


def _gradient(
    examples: Sequence[Classified],
    batch: Batch,
    model: CapturedModel,
    sites: Sequence[AttentionSite],
) -> Float[Tensor, "batch key"]:
    positions = LabelPositions(examples, model.transformer.device)
    predictor = CapturedPredictor(model, batch, positions, model.sites_of(sites[0].kind))
    return predictor.gradient_input()


def _also(name: str, model: CapturedModel) -> CapturedModel:
    """Return a further classifier, which reads the same tokens; refuse another tokenizer."""
    classifier = load_model(name, head="classification", device=str(model.transformer.device))
    own: Any = model.tokenizer
    theirs: Any = classifier.tokenizer
    if theirs is None or theirs.get_vocab() != own.get_vocab():
        raise UsageError(
            f"{name} has not the tokenizer of {model}, so that its attention goes to other "
            f"tokens; leave it out of {setting('also')}."
        )
    return classifier
