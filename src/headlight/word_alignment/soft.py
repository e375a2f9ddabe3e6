"""Soft alignments: matrices between the pieces or words of a target and those of its source."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.encode.batch import NO_WORD, Batch
from headlight.measures import Scores, word_score
from headlight.pool import WordPair, Words
from headlight.word_alignment.settings import STEPS, LinkSettings, Step

WordMatrix = Float[Tensor, "batch head target_word source_unit"]
LinkMatrix = Bool[Tensor, "batch head target_word source_word"]


@dataclass(frozen=True, eq=False)
class Sides:
    """The words of a batch of translations.

    Attributes:
        read: For every place of the decoder the word that it reads there.
        predicted: For every place the word that it predicts there.
        source: For every place of the encoder its word.
    """

    read: Int64[Tensor, "batch target"]
    predicted: Int64[Tensor, "batch target"]
    source: Int64[Tensor, "batch source"]

    @classmethod
    def of(cls, batch: Batch) -> "Sides":
        """Return the sides of a batch with a target.

        What a place predicts is what the next one reads; the end of the sentence, which the last
        one predicts, belongs to no word.
        """
        assert batch.target_word is not None  # noqa: S101 - only translations come here
        read = batch.target_word
        predicted = torch.nn.functional.pad(read[:, 1:], (0, 1), value=NO_WORD)
        return cls(read, predicted, batch.word)

    def attending(self, step: Step) -> Int64[Tensor, "batch target"]:
        """The target word that speaks at every place of the decoder."""
        return self.read if step == "input" else self.predicted

    @cached_property
    def attended(self) -> Words:
        """Source words, and every special token as a unit of its own."""
        return Words.of(self.source, special=True)

    @cached_property
    def pairs(self) -> dict[Step, WordPair]:
        """The words of either side, for each step."""
        return {step: WordPair(Words.of(self.attending(step)), self.attended) for step in STEPS}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Words of the target and of the source that has most."""
        return int(self.read.max()) + 1, int(self.source.max()) + 1


def layer_matrix(
    scores: Scores, measure: str, words: WordPair, pooling: str = "norms"
) -> WordMatrix:
    """Return the scores of every pair of words by all heads of a layer, in one row for the heads.

    * ``weight``, ``effective``: the mean over the heads;
    * ``norm``: ‖Σ_h α f(x)‖, the norm of the sum over the heads.

    Source: Kobayashi et al. (2020), Section 5.
    """
    if measure == "norm":
        return word_score(scores, "merged_norm", words, pooling)
    return word_score(scores, measure, words, pooling).mean(1, keepdim=True)


def head_matrices(
    scores: Scores, measure: str, words: WordPair, pooling: str = "norms"
) -> WordMatrix:
    """Return the scores of every pair of words by each head."""
    return word_score(scores, measure, words, pooling)


def links_of_words(matrix: WordMatrix, sides: Sides, null: str) -> LinkMatrix:
    """The largest entry of each row of a matrix between words.

    Of equal entries the first wins; a row in which a special token wins has no link.

    Args:
        matrix: of a `WordPair` of `sides`.
        sides: the words.
        null: ``special``: special tokens may win; ``exclude``: they are left out.

    Source: Kobayashi et al. (2020), Section 5, and their code.
    """
    number = sides.attended.number[:, None, None]
    closed = number < 0 if null == "exclude" else number < NO_WORD
    best = matrix.masked_fill(closed, -torch.inf).argmax(-1)
    word = number.expand(*best.shape, -1).gather(-1, best[..., None])[..., 0]
    targets = Words.of(sides.read)
    there = targets.present[:, None] & (matrix.masked_fill(closed, 0) != 0).any(-1)
    return _marked(word.masked_fill(~there, NO_WORD), sides.shape[1])


def links_of_pieces(
    score: Float[Tensor, "batch head target source"], sides: Sides, step: Step, null: str
) -> LinkMatrix:
    """The union of the links of all pieces, each to the source piece of its largest entry.

    Args:
        score: between pieces.
        sides: the words.
        step: which row speaks for a target piece.
        null: as in `links_of_words`.

    Source: Ding et al. (2019), and the scripts of Zenkel et al. (2019).
    """
    source = sides.source[:, None, None]
    closed = source < 0 if null == "exclude" else source < NO_WORD
    best = score.masked_fill(closed, -torch.inf).argmax(-1)
    word = source.expand(*best.shape, -1).gather(-1, best[..., None])[..., 0]
    by_piece = _marked(word, sides.shape[1]).float()
    members = Words.of(sides.attending(step)).members
    return (members[:, None] @ by_piece) > 0


def _marked(word: Int64[Tensor, "batch head row"], width: int) -> LinkMatrix:
    """True where a row has its word; nowhere if it has none."""
    numbers = torch.arange(width, device=word.device)
    return word[..., None] == numbers


def attention_links(
    scores: Scores,
    measure: str,
    sides: Sides,
    step: Step,
    settings: LinkSettings,
    *,
    by_head: bool = False,
) -> LinkMatrix:
    """Links by what all heads of a layer do together, or by each of them.

    Args:
        scores: of cross-attention.
        measure: ``weight``, ``norm`` or ``effective``.
        sides: the words of the batch.
        step: which row speaks for a target piece.
        settings: see `LinkSettings`.
        by_head: whether every head has links of its own.
    """
    null = settings.null or "special"
    if settings.unit == "piece":
        return links_of_pieces(_between_pieces(scores, measure, by_head), sides, step, null)
    make = head_matrices if by_head else layer_matrix
    return links_of_words(make(scores, measure, sides.pairs[step], settings.pooling), sides, null)


def _between_pieces(
    scores: Scores, measure: str, by_head: bool
) -> Float[Tensor, "batch head target source"]:
    if by_head:
        return scores.of(measure)
    return scores.of("merged_norm") if measure == "norm" else scores.of(measure).mean(1)[:, None]


def input_links(
    matrix: Float[Tensor, "batch 1 target source"], sides: Sides, settings: LinkSettings
) -> tuple[LinkMatrix, WordMatrix]:
    """Links of a measure of the input, and its matrix between words."""
    words = sides.pairs["input"].pool(matrix)
    null = settings.null or "exclude"
    if settings.unit == "piece":
        return links_of_pieces(matrix, sides, "input", null), words
    return links_of_words(words, sides, null), words


def places(batch: Batch) -> Float[Tensor, "batch target source"]:
    """1 for every pair of places that are no padding."""
    assert batch.target_mask is not None  # noqa: S101 - only translations come here
    return (batch.target_mask[:, :, None] * batch.attention_mask[:, None]).float()


def mean_of_places(
    score: Float[Tensor, "batch head target source"],
    there: Float[Tensor, "batch target source"],
) -> Float[Tensor, "batch head"]:
    """The mean of every sentence and head."""
    share = there[:, None].to(score.dtype)
    mean: Tensor = (score * share).sum((-2, -1)) / share.sum((-2, -1))
    return mean
