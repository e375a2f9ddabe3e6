"""Classifiers of texts: words are encoded, one attention weighs them, their sum is classified."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from headlight.measures import jensen_shannon, kullback_leibler, total_variation

Logits = Float[Tensor, "*prediction label"]
"""One row for each prediction: of a text, or of every word of it."""
Attention = Float[Tensor, "batch head query key"]
"""Weights of all heads that are asked about, of one layer or of several.

A model with one attention over a text has one head and one query.
"""

Batch = TypeVar("Batch")


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a model for a batch.

    Attributes:
        probability: of labels.
        attention: its weights, without dropout, or those that were given in their place.
    """

    probability: Float[Tensor, "*prediction label"]
    attention: Attention


@dataclass(frozen=True, eq=False)
class ValidMask:
    """Mask of what counts in a batch, and is no padding.

    Attributes:
        predictions: which predictions.
        rows: whose attention.
        keys: which keys; what stands in others is not looked at.
    """

    predictions: Bool[Tensor, "*prediction"]
    rows: Bool[Tensor, "batch query"]
    keys: Bool[Tensor, "batch key"]

    @staticmethod
    def of_texts(words: Bool[Tensor, "text word"]) -> "ValidMask":
        """One prediction and one row of attention for each text, over its words."""
        every = words.new_ones(len(words))
        return ValidMask(every, every[:, None], words)


class AttentionModel(nn.Module, Generic[Batch]):
    """A model of which one attention can be given from outside."""

    def run(self, batch: Batch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Logits, and the weights that were used: the model's own, or those that are given."""
        raise NotImplementedError


@torch.no_grad()
def outputs_of(
    model: AttentionModel[Batch], batches: Sequence[Batch], given: Sequence[Tensor] | None = None
) -> list[Outputs]:
    """The outputs of a model for these batches, without dropout.

    Args:
        model: any.
        batches: that it reads.
        given: attention for each batch, in the place of the model's own.
    """
    model.eval()
    outputs = []
    for number, batch in enumerate(batches):
        logits, used = model.run(batch, None if given is None else given[number])
        outputs.append(Outputs(logits.softmax(-1), used))
    return outputs


def mean_of_valid(
    values: Float[Tensor, "*prediction"], valid: Bool[Tensor, "*prediction"]
) -> Float[Tensor, ""]:
    """The mean over those that are no padding."""
    return torch.where(valid, values, 0).sum() / valid.sum()


def cross_entropy(
    logits: Logits, labels: Int64[Tensor, "*prediction"]
) -> Float[Tensor, "*prediction"]:
    """−ln p of these labels."""
    return -chosen_log(logits.log_softmax(-1), labels)


def chosen_log(
    log_probability: Logits, labels: Int64[Tensor, "*prediction"]
) -> Float[Tensor, "*prediction"]:
    """Ln p of these labels."""
    return log_probability.gather(-1, labels[..., None]).squeeze(-1)


def compare(
    outputs: Outputs, teacher: Outputs, valid: ValidMask, log_probability: Logits
) -> dict[str, Tensor]:
    """Compute the distance of predictions and attention from a teacher's, before any mean is taken.

    Args:
        outputs: of a model.
        teacher: those of its teacher for the same batch.
        valid: what counts; other predictions and rows are left to the caller.
        log_probability: ln p of the model's predictions, as exact as the caller has it.

    Returns:
        By prediction ``tvd`` of the predictions, ``agreement`` on the label, and ``taught_nll``,
        −ln p of the teacher's label; by batch, head and row ``kl``, KL(model ‖ teacher) of the
        attention, and ``jsd``.
    """
    label = teacher.probability.argmax(-1)
    keys = valid.keys[:, None, None]
    return {
        "tvd": total_variation(outputs.probability, teacher.probability),
        "agreement": (outputs.probability.argmax(-1) == label).double(),
        "taught_nll": -chosen_log(log_probability, label),
        "kl": kullback_leibler(outputs.attention, teacher.attention, keys),
        "jsd": jensen_shannon(outputs.attention, teacher.attention, keys),
    }


LONGEST_WAVE = 10_000.0


def timing_signal(words: int, width: int) -> Float[Tensor, "words width"]:
    """Sines and cosines of wave lengths from 2π to 10,000 · 2π, side by side."""
    half = width // 2
    rate = torch.exp(torch.arange(half) * -(math.log(LONGEST_WAVE) / max(half - 1, 1)))
    angle = torch.arange(words)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], -1)


Encoder = Literal["lstm", "average", "transformer"]
"""States of words before they are weighed: of an LSTM in both directions, of words alone (an affine
map and tanh), or of one Transformer layer, which the papers do not have."""

HIDDEN = 128
"""Width of an LSTM in one direction, and of the map before attention."""
EMBEDDED = 100
"""Length of word vectors, if those that are given are not longer."""
SPREAD = 0.1
"""The standard deviation of word vectors at first, where none is given."""
HEADS = 4

Embedded = Float[Tensor, "text position embedding"]
States = Float[Tensor, "text position state"]
Weights = Float[Tensor, "text position"]
Real = Bool[Tensor, "text position"]


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Texts of one batch.

    Attributes:
        words: by their number in the vocabulary.
        real: what is no padding.
        labels: the number of the class of each text.
        numbers: which texts of their part these are.
    """

    words: Int64[Tensor, "text position"]
    real: Real
    labels: Int64[Tensor, " text"]
    numbers: Int64[Tensor, " text"]

    @property
    def valid(self) -> ValidMask:
        """One prediction for each text, and all of its words as keys."""
        return ValidMask.of_texts(self.real)

    def __len__(self) -> int:
        return len(self.words)


class TextClassifier(AttentionModel[TextBatch]):
    """Words to logits of classes, by attention over the words of a text.

    The weights are the softmax of v·tanh(W h + b) over the words h of a text (Jain and Wallace
    2019, after Bahdanau et al. 2015).  Padding is masked.  There are no marks before and behind a
    text, as the released codes have, where encoders read them and attention passes over them, so
    that every word can be attended to.

    Args:
        embedding: vectors of words.
        encoder: what makes states of them, and of what is real.
        width: the length of a state.
        hidden: width of the map before attention.
        classes: how many are told apart.
    """

    def __init__(
        self, embedding: nn.Embedding, encoder: nn.Module, width: int, hidden: int, classes: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.before_attention = nn.Linear(width, hidden)
        self.attention = nn.Linear(hidden, 1, bias=False)
        self.output = nn.Linear(width, classes)

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        words: int,
        classes: int,
        vectors: Float32[Tensor, "type dimension"] | None = None,
    ) -> "TextClassifier":
        """One of the classifiers of Jain and Wallace, or with an encoder of ours.

        Args:
            encoder: see `Encoder`.
            words: how many types there are.
            classes: how many are told apart.
            vectors: what word vectors begin with, if they are short in their first columns; zeros
                for words without one.
        """
        embedding = _embedding(words, vectors)
        encoder_module = ENCODERS[encoder](embedding.embedding_dim)
        return cls(embedding, encoder_module, WIDTHS[encoder], HIDDEN, classes)

    def forward(
        self, words: Int64[Tensor, "text position"], real: Real, given: Weights | None = None
    ) -> tuple[Logits, Weights]:
        """Logits, and the weights that were used.

        Args:
            words: types.
            real: what is no padding; at least one word of each text.
            given: weights in the place of the model's own, which then has no part in anything.
        """
        states = self.encode(self.embedding(words), real)
        weight = self.attend(states, real) if given is None else given
        return self.classify(states, weight), weight

    def run(self, batch: TextBatch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Run the classifier on a batch; all its attention has one head and one query."""
        logits, weight = self(batch.words, batch.real, None if given is None else given[:, 0, 0])
        return logits, weight[:, None, None]

    def encode(self, embedded: Embedded, real: Real) -> States:
        """States of words from their vectors."""
        states: Tensor = self.encoder(embedded, real)
        return states

    def attend(self, states: States, real: Real) -> Weights:
        """The model's own weights."""
        scores: Tensor = self.attention(self.before_attention(states).tanh()).squeeze(-1)
        return scores.masked_fill(~real, -torch.inf).softmax(-1)

    def classify(self, states: States, weight: Float[Tensor, "*copy text position"]) -> Tensor:
        """Logits from weighed states; of many weights at once, those of each."""
        context = (weight[..., None, :] @ states).squeeze(-2)
        logits: Tensor = self.output(context)
        return logits


class LSTMEncoder(nn.Module):
    """An LSTM from the left and one from the right, their states side by side.

    Each is a layer of its own, so that the second can begin at the last word of each text: packed
    sequences would do the same, and took 2 to 10 times as long on a CPU.
    """

    def __init__(self, embedded: int) -> None:
        super().__init__()
        self.right = nn.LSTM(embedded, HIDDEN, batch_first=True)
        self.left = nn.LSTM(embedded, HIDDEN, batch_first=True)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """States of both directions."""
        places = _reversed(real)[..., None]
        turned = embedded.gather(1, places.expand_as(embedded))
        left_states = self.left(turned)[0]
        left_states = left_states.gather(1, places.expand_as(left_states))
        return torch.cat([self.right(embedded)[0], left_states], -1)


class AverageEncoder(nn.Module):
    """Each word by itself, as in the ``average`` encoder of Jain and Wallace.

    It is also the MLP of Wiegreffe and Pinter (2019), Section 3.4.
    """

    def __init__(self, embedded: int, width: int = 2 * HIDDEN) -> None:
        super().__init__()
        self.map = nn.Linear(embedded, width)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """States that know nothing of other words."""
        states: Tensor = self.map(embedded).tanh()
        return states


class TransformerEncoder(nn.Module):
    """One Transformer layer, normalised before each part, without dropout."""

    def __init__(self, embedded: int) -> None:
        super().__init__()
        self.map = nn.Linear(embedded, HIDDEN)
        self.layer = nn.TransformerEncoderLayer(
            HIDDEN, HEADS, 2 * HIDDEN, dropout=0.0, batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """States that know of all words, and where they stand."""
        state = self.map(embedded) + timing_signal(embedded.shape[1], HIDDEN)
        states: Tensor = self.norm(self.layer(state, src_key_padding_mask=~real))
        return states


ENCODERS = {"lstm": LSTMEncoder, "average": AverageEncoder, "transformer": TransformerEncoder}
WIDTHS = {"lstm": 2 * HIDDEN, "average": 2 * HIDDEN, "transformer": HIDDEN}
"""Lengths of their states."""


def _embedding(words: int, vectors: Float32[Tensor, "type dimension"] | None) -> nn.Embedding:
    """Vectors that are trained, from those that are given and small random numbers."""
    vector_size = 0 if vectors is None else vectors.shape[1]
    embedding = nn.Embedding(words, max(EMBEDDED, vector_size))
    with torch.no_grad():
        nn.init.normal_(embedding.weight, std=SPREAD)
        if vectors is not None:
            columns = embedding.weight[:, :vector_size]
            columns.copy_(torch.where(vectors.any(-1, keepdim=True), vectors, columns))
    return embedding


def _reversed(real: Real) -> Int64[Tensor, "text position"]:
    """For each place the one that stands there when the words are turned round; padding stays."""
    places = torch.arange(real.shape[1]).expand_as(real)
    return torch.where(real, real.sum(-1, keepdim=True) - 1 - places, places)


def uniform_attention(batch: TextBatch) -> Attention:
    """Return the same weight for every word of a text; none for padding."""
    return (batch.real / batch.real.sum(-1, keepdim=True))[:, None, None]
