"""Classifiers of texts: words are encoded, one attention weighs them, their sum is classified."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from headlight_papers.training.model_outputs import Attention, AttentionModel, Logits, ValidMask
from headlight_papers.training.text_encoders import (
    ENCODERS,
    HIDDEN,
    WIDTHS,
    Embedded,
    Encoder,
    Real,
    States,
)

EMBEDDED = 100
"""Length of word vectors, if those that are given are not longer."""
SPREAD = 0.1
"""Initial standard deviation of word vectors, where none is given."""

Weights = Float[Tensor, "text position"]


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Batch of texts.

    Attributes:
        words: Words, by their number in the vocabulary.
        real: Mask of the words, False for padding.
        labels: Number of the class of each text.
        numbers: Number of each text in its part.
    """

    words: Int64[Tensor, "text position"]
    real: Real
    labels: Int64[Tensor, " text"]
    numbers: Int64[Tensor, " text"]

    @property
    def valid(self) -> ValidMask:
        """Return the mask of one prediction for each text, and of all of its words as keys."""
        return ValidMask.of_texts(self.real)

    def __len__(self) -> int:
        return len(self.words)


class TextClassifier(AttentionModel[TextBatch]):
    """Classifier of texts by attention over their words.

    The weights are the softmax of v·tanh(W h + b) over the words h of a text (Jain and Wallace
    2019, after Bahdanau et al. 2015).  Padding is masked.  There are no marks before and behind a
    text, as the released codes have, where encoders read them and attention passes over them, so
    that every word can be attended to.

    Args:
        embedding: Vectors of words.
        encoder: Module that computes states from word vectors and the mask of words.
        width: Length of a state.
        hidden: Width of the map before attention.
        classes: Number of classes.
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
    def from_sizes(
        cls,
        encoder: Encoder,
        words: int,
        classes: int,
        vectors: Float32[Tensor, "type dimension"] | None = None,
    ) -> "TextClassifier":
        """Return a classifier of Jain and Wallace, or one with an encoder of ours.

        Args:
            encoder: See `Encoder`.
            words: Number of word types.
            classes: Number of classes.
            vectors: Initial word vectors, in the first columns if they are short; zeros for words
                without one.
        """
        embedding = _embedding(words, vectors)
        encoder_module = ENCODERS[encoder](embedding.embedding_dim)
        return cls(embedding, encoder_module, WIDTHS[encoder], HIDDEN, classes)

    def forward(
        self, words: Int64[Tensor, "text position"], real: Real, given: Weights | None = None
    ) -> tuple[Logits, Weights]:
        """Return logits, and the weights that were used.

        Args:
            words: Word types.
            real: Mask of the words, False for padding; at least one word of each text.
            given: Weights in place of the model's own, which are then not computed.
        """
        states = self.encode(self.embedding(words), real)
        weight = self.attend(states, real) if given is None else given
        return self.classify(states, weight), weight

    def run(self, batch: TextBatch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Run the classifier on a batch; all its attention has one head and one query."""
        logits, weight = self(batch.words, batch.real, None if given is None else given[:, 0, 0])
        return logits, weight[:, None, None]

    def encode(self, embedded: Embedded, real: Real) -> States:
        """Compute the states of words from their vectors."""
        states: Tensor = self.encoder(embedded, real)
        return states

    def attend(self, states: States, real: Real) -> Weights:
        """Return the model's own weights."""
        scores: Tensor = self.attention(self.before_attention(states).tanh()).squeeze(-1)
        return scores.masked_fill(~real, -torch.inf).softmax(-1)

    def classify(self, states: States, weight: Float[Tensor, "*copy text position"]) -> Tensor:
        """Return logits from weighted states; for many weights at once, those of each."""
        context = (weight[..., None, :] @ states).squeeze(-2)
        logits: Tensor = self.output(context)
        return logits


def _embedding(words: int, vectors: Float32[Tensor, "type dimension"] | None) -> nn.Embedding:
    """Make trainable vectors from given ones and small random numbers."""
    vector_size = 0 if vectors is None else vectors.shape[1]
    embedding = nn.Embedding(words, max(EMBEDDED, vector_size))
    with torch.no_grad():
        nn.init.normal_(embedding.weight, std=SPREAD)
        if vectors is not None:
            columns = embedding.weight[:, :vector_size]
            # Words without a given vector, which is zero, keep their random one.
            columns.copy_(torch.where(vectors.any(-1, keepdim=True), vectors, columns))
    return embedding


def uniform_attention(batch: TextBatch) -> Attention:
    """Return the same weight for every word of a text; none for padding."""
    return (batch.real / batch.real.sum(-1, keepdim=True))[:, None, None]
