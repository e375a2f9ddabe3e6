"""Small classifiers of texts that papers train: their data, their jobs, and what each is worth."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas
import torch
from jaxtyping import Float, Float32, Float64, Int64
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.optim import Adam

from headlight.corpora import WordVectors, read_word_vectors, source_state
from headlight.vocabulary import Part
from headlight_papers.papers.labelled_sets import (
    LabelledSet,
    LabelledText,
    named_sets,
    read_labelled,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.trained import Kind, ModelFamily, TeacherJob, TeacherTrainer
from headlight_papers.training.text_classifier import (
    ENCODERS,
    Attention,
    Encoder,
    Outputs,
    TextBatch,
    TextClassifier,
    compare,
    uniform_attention,
)
from headlight_papers.training.text_predictor import TextPredictor, adversaries

BATCH = 32
"""Texts in a batch, of nearly the same length."""
PADDING = 0
UNKNOWN = 1
NO_WORDS = ("", "[unknown]")
"""Names of the first two entries of a vocabulary."""
LARGEST = "largest weight"
"""The column of `by_largest`."""
EDGES = (0.25, 0.5, 0.75, 1.0)
"""Up to which it goes in each column of Jain and Wallace (2019), Figures 6 to 9."""


@dataclass(frozen=True, eq=False)
class TextData:
    """Everything that classifiers of texts learn from, and are tried on.

    Attributes:
        title: of the set.
        classes: names of the two classes.
        vocabulary: all words that have a vector of their own; first padding and unknown words.
        vectors: those that training begins with, zeros for words without one; None where no file of
            vectors was given.
        parts: batches by part, sorted by the length of texts.
    """

    title: str
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    vectors: Float32[Tensor, "word dimension"] | None
    parts: dict[Part, list[TextBatch]]

    def count(self, part: Part) -> int:
        """Return the number of texts."""
        return sum(len(batch.words) for batch in self.parts[part])

    def labels(self, part: Part) -> Int64[Tensor, " text"]:
        """The classes of all texts, batch by batch."""
        return torch.cat([batch.labels for batch in self.parts[part]])

    def lengths(self, part: Part) -> Int64[Tensor, " text"]:
        """The words of all texts, batch by batch."""
        return torch.cat([batch.real.sum(-1) for batch in self.parts[part]])


def open_data(reproduction: Reproduction, source: str) -> TextData:
    """A set of labelled texts, read as the settings of a reproduction say.

    Args:
        reproduction: of which paper it is.
        source: one of `Sources.labelled`.

    Raises:
        CorpusError: it cannot be read, or has not two classes, or too few texts.
    """
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    texts = read_labelled(
        source, settings.seed, max_texts=settings.max_texts, max_words=settings.max_words
    )
    return prepare_data(texts, read_word_vectors(vectors) if vectors else None)


def data_key(reproduction: Reproduction, source: str) -> dict[str, Any]:
    """Return the dependencies of the data, as JSON, for the signature of a result."""
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    return {
        "texts": source_state(source),
        "vectors": source_state(vectors) if vectors else None,
        "max_texts": settings.max_texts,
        "max_words": settings.max_words,
    }


def prepare_data(texts: LabelledSet, vectors: WordVectors | None = None) -> TextData:
    """Number the words, and make batches; vectors are of words in small letters."""
    document_counts = Counter(word for text in texts.parts["train"] for word in set(text.words))
    often = sorted(word for word, count in document_counts.items() if count >= texts.frequency)
    vocabulary = (*NO_WORDS, *often)
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return TextData(
        texts.title,
        texts.classes,
        vocabulary,
        None if vectors is None else torch.from_numpy(vectors.rows(vocabulary)),
        {part: _batches(some, numbers) for part, some in texts.parts.items()},
    )


def _batches(texts: Sequence[LabelledText], numbers: dict[str, int]) -> list[TextBatch]:
    rows = [
        (torch.tensor([numbers.get(word, UNKNOWN) for word in text.words]), text.label, number)
        for number, text in enumerate(texts)
    ]
    return _in_batches(sorted(rows, key=lambda row: len(row[0])), BATCH)


def _in_batches(texts: Sequence[tuple[Tensor, int, int]], size: int) -> list[TextBatch]:
    """Batches of texts by their words, class and number."""
    batches = []
    for first in range(0, len(texts), size):
        rows, labels, numbers = zip(*texts[first : first + size], strict=True)
        words = pad_sequence(list(rows), batch_first=True, padding_value=PADDING)
        real = torch.arange(words.shape[1]) < torch.tensor(list(map(len, rows)))[:, None]
        batches.append(TextBatch(words, real, torch.tensor(labels), torch.tensor(numbers)))
    return batches


def drawn_from(
    batches: list[TextBatch], count: int, seed: int, size: int = BATCH
) -> list[TextBatch]:
    """This many texts of all batches at most, drawn, in batches of nearly the same length."""
    texts = [
        (words[real], int(label), int(number))
        for batch in batches
        for words, real, label, number in zip(
            batch.words, batch.real, batch.labels, batch.numbers, strict=True
        )
    ]
    drawn = np.random.default_rng(seed).permutation(len(texts))[:count]
    return _in_batches([texts[at] for at in sorted(drawn.tolist())], size)  # still by length


def by_largest(weights: Float[np.ndarray, " text"]) -> "pandas.Categorical[str]":
    """The label of each text, ``≤ 0.5``, in the order of the weights."""
    labels = np.array([f"≤ {edge:g}" for edge in EDGES])
    place = np.digitize(weights, EDGES[:-1], right=True)
    return pandas.Categorical(labels[place].tolist(), labels.tolist(), ordered=True)


NUMBERS = {
    "f1": ("F1 of the second class", "1"),
    "accuracy": ("share of correct predictions", "1"),
    "auc": ("area under the ROC curve", "1"),
    "nll": ("negative log-likelihood of the gold classes per text", "nats"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "kl": ("KL(attention ‖ the base's) of a text", "nats"),
    "jsd": ("JSD of attention and the base's, of a text", "nats"),
    "agreement": ("share of texts with the base's class", "1"),
}
"""Long name and unit of what is measured of a classifier: of all its quality, then its distance
from its base."""
Numbers = dict[str, float]


def distances(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> dict[str, Float64[Tensor, " text"]]:
    """Compute each text's distance in prediction and attention from a teacher; see `compare`."""
    parts: dict[str, list[Tensor]] = {}
    for batch, one, other in zip(batches, outputs, teacher, strict=True):
        mine, theirs = (Outputs(each.probability, each.attention.double()) for each in (one, other))
        log = one.probability.double().clamp_min(1e-300).log()
        for name, values in compare(mine, theirs, batch.valid, log).items():
            parts.setdefault(name, []).append(values.reshape(len(batch)).double())
    return {name: torch.cat(each) for name, each in parts.items()}


def adversaries_of_some(
    model: TextClassifier,
    batches: Sequence[TextBatch],
    numbers: Sequence[int],
    generator: torch.Generator,
) -> tuple[Float64[np.ndarray, " text"], Float64[np.ndarray, " text"]]:
    """Return how far other attention goes, and how far predictions move by it; see `adversaries`.

    Args:
        model: any.
        batches: the texts for which other attention is looked for.
        numbers: of all texts, in their order; those that are not in a batch have NaN.
        generator: of what the candidates begin with.
    """
    at = {number: place for place, number in enumerate(numbers)}
    jsd, moved = np.full(len(at), np.nan), np.full(len(at), np.nan)
    for batch in batches:
        places = [at[number] for number in batch.numbers.tolist()]
        other = adversaries(TextPredictor(model, batch), generator)
        jsd[places], moved[places] = other.jsd.numpy(), other.moved.numpy()
    return jsd, moved


Guide = Literal["base", "adversary", "uniform"]
"""Source of the attention that a model is given."""
RATE = 1e-3
DECAY = 1e-5
"""Weight decay, of everything but attention."""
PATIENCE = 3
"""Epochs without improvement after which training stops."""


@dataclass(frozen=True)
class ClassifierJob(TeacherJob):
    """One classifier; see `TeacherJob`.

    Attributes:
        encoder: see `headlight_papers.training.text_classifier.Encoder`.
        of: the encoder of the model that it is compared with or guided by; by default the same.
    """

    kind: Kind
    encoder: Encoder
    seed: int
    weight: float | None = None
    guide: Guide | None = None
    of: Encoder | None = None

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Another for each kind and encoder."""
        return (*super().seed_of_model, list(ENCODERS).index(self.encoder))

    def _alike(self, **changes: Any) -> "ClassifierJob":
        return super()._alike(encoder=self.of or self.encoder, of=None, **changes)


class ClassifierTrainer(TeacherTrainer[ClassifierJob, TextClassifier, TextBatch]):
    """Trains classifiers on the same texts, as the released codes do: Adam without a schedule."""

    metric = "auc"

    def begin(self, job: ClassifierJob) -> TextClassifier:
        """A new classifier with the vectors of the data."""
        data = self.data
        return TextClassifier.of(job.encoder, len(data.vocabulary), len(data.classes), data.vectors)

    def optimizer(self, model: TextClassifier) -> tuple[Adam, None]:
        """With weight decay of everything but attention."""
        attention = [*model.before_attention.parameters(), *model.attention.parameters()]
        others = [model.embedding, model.encoder, model.output]
        groups: list[dict[str, Any]] = [
            {"params": [each for part in others for each in part.parameters()]},
            {"params": attention, "weight_decay": 0.0},
        ]
        adam = Adam(groups, lr=RATE, amsgrad=True, fused=True, weight_decay=DECAY)
        return adam, None

    def plain(self, batch: TextBatch, guide: str) -> Attention:
        """Uniform, of which there is no other."""
        return uniform_attention(batch)

    def quality(self, batches: Sequence[TextBatch], outputs: Sequence[Outputs]) -> Numbers:
        """F1 of the second class, accuracy, area under the ROC curve, and NLL of gold labels.

        The area is NaN where all texts are of one class.
        """
        labels = torch.cat([batch.labels for batch in batches]).numpy()
        probability = torch.cat([output.probability for output in outputs]).double().numpy()
        chosen = probability.argmax(-1)
        both = len(np.unique(labels)) == 2
        gold = probability[np.arange(len(labels)), labels]
        return {
            "f1": float(f1_score(labels, chosen, zero_division=0)),
            "accuracy": float(accuracy_score(labels, chosen)),
            "auc": float(roc_auc_score(labels, probability[:, 1])) if both else np.nan,
            "nll": float(-np.log(np.maximum(gold, 1e-300)).mean()),
        }

    def difference(
        self, batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """The means of `distances` over texts."""
        by_text = distances(batches, outputs, teacher)
        return {name: float(values.mean()) for name, values in by_text.items()}


MODELS = "classifiers"
"""The folder of trained models, among the results."""


def sets_of(reproduction: Reproduction) -> dict[str, str]:
    """Sources of labelled texts by their titles."""
    return named_sets(reproduction.sources.labelled)


def classifiers_of(reproduction: Reproduction, title: str) -> ModelFamily[ClassifierTrainer]:
    """Return the classifiers of a set of labelled texts."""
    source = sets_of(reproduction)[title]
    return ModelFamily(
        reproduction,
        ClassifierTrainer,
        f"{MODELS}/{file_name(title)}",
        partial(open_data, source=source),
        data_key(reproduction, source),
        PATIENCE,
    )


def file_name(title: str) -> str:
    """Return the name of the file for a set."""
    return re.sub(r"\W+", "_", title.lower())
