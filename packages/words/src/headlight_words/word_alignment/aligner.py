"""Word alignment by a model, and the soft alignments behind it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.encode import length_batches
from headlight.encode.batch import NO_WORD, Batch
from headlight.errors import UsageError
from headlight.measures import Scores, word_score
from headlight.pool import WordPair, Words
from headlight_words.corpora import TranslationPair
from headlight_words.encode.translations import EncodedTranslation, translations
from headlight_words.links import Links
from headlight_words.word_alignment import STEPS, AlignerSettings, LinkSettings, Step
from headlight_words.word_alignment.inputs import input_matrix

WordMatrix = Float[Tensor, "batch head target_word source_unit"]
LinkMatrix = Bool[Tensor, "batch head target_word source_word"]


@dataclass(frozen=True, eq=False)
class Sides:
    """The words of a batch of translations.

    Attributes:
        read: Word that the decoder reads at each of its places.
        predicted: Word that the decoder predicts at each of its places.
        source: Word at each place of the encoder.
    """

    read: Int64[Tensor, "batch target"]
    predicted: Int64[Tensor, "batch target"]
    source: Int64[Tensor, "batch source"]

    @classmethod
    def from_batch(cls, batch: Batch) -> "Sides":
        """Return the sides of a batch with a target.

        The word predicted at a place is the word read at the next place; the end of the sentence,
        which the last place predicts, belongs to no word.
        """
        assert batch.target_word is not None  # noqa: S101 - only translations come here
        read = batch.target_word
        predicted = torch.nn.functional.pad(read[:, 1:], (0, 1), value=NO_WORD)
        return cls(read, predicted, batch.word)

    def attending(self, step: Step) -> Int64[Tensor, "batch target"]:
        """Return the target word that every place of the decoder stands for."""
        return self.read if step == "input" else self.predicted

    @cached_property
    def attended(self) -> Words:
        """Return source words, and every special token as a unit of its own."""
        return Words.of(self.source, special=True)

    @cached_property
    def pairs(self) -> dict[Step, WordPair]:
        """Return the words of either side, for each step."""
        return {step: WordPair(Words.of(self.attending(step)), self.attended) for step in STEPS}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Return the largest numbers of words of a target and of a source."""
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


def links_of_words(matrix: WordMatrix, sides: Sides, null: str) -> LinkMatrix:
    """Return the largest entry of each row of a matrix between words.

    Of equal entries the first wins; a row in which a special token wins has no link.

    Args:
        matrix: Matrix of a `WordPair` of `sides`.
        sides: Words of the batch.
        null: Role of special tokens: they may win (``special``), or are left out (``exclude``).

    Source: Kobayashi et al. (2020), Section 5, and their code.
    """
    number = sides.attended.number[:, None, None]
    closed = number < 0 if null == "exclude" else number < NO_WORD
    best = matrix.masked_fill(closed, -torch.inf).argmax(-1)
    word = number.expand(*best.shape, -1).gather(-1, best[..., None])[..., 0]
    # Rows are words of the target, whichever step they stand for.
    targets = Words.of(sides.read)
    # A row of zeros has no largest entry, although `argmax` names one.
    has_link = targets.present[:, None] & (matrix.masked_fill(closed, 0) != 0).any(-1)
    return _marked(word.masked_fill(~has_link, NO_WORD), sides.shape[1])


def links_of_pieces(
    score: Float[Tensor, "batch head target source"], sides: Sides, step: Step, null: str
) -> LinkMatrix:
    """Return the union of the links of all pieces, each to the source piece of its largest entry.

    Args:
        score: Score between pieces.
        sides: Words of the batch.
        step: Row that stands for a target piece, see `Step`.
        null: Role of special tokens, as in `links_of_words`.

    Source: Ding et al. (2019), and the scripts of Zenkel et al. (2019).
    """
    source = sides.source[:, None, None]
    # Special tokens have the number NO_WORD, padding a smaller number: it can never win.
    closed = source < 0 if null == "exclude" else source < NO_WORD
    best = score.masked_fill(closed, -torch.inf).argmax(-1)
    word = source.expand(*best.shape, -1).gather(-1, best[..., None])[..., 0]
    by_piece = _marked(word, sides.shape[1]).float()
    members = Words.of(sides.attending(step)).members
    return (members[:, None] @ by_piece) > 0


def _marked(word: Int64[Tensor, "batch head row"], width: int) -> LinkMatrix:
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
    """Return links by all heads of a layer together, or by each of them.

    Args:
        scores: Scores of cross-attention.
        measure: Measure of attention: ``weight``, ``norm`` or ``effective``.
        sides: Words of the batch.
        step: Row that stands for a target piece, see `Step`.
        settings: Settings of links, see `LinkSettings`.
        by_head: Whether every head has links of its own.
    """
    null = settings.null or "special"
    if settings.unit == "piece":
        return links_of_pieces(_piece_matrix(scores, measure, by_head), sides, step, null)
    make = word_score if by_head else layer_matrix
    return links_of_words(make(scores, measure, sides.pairs[step], settings.pooling), sides, null)


def _piece_matrix(
    scores: Scores, measure: str, by_head: bool
) -> Float[Tensor, "batch head target source"]:
    if by_head:
        return scores.of(measure)
    # Merged norms are of all heads already, so that no mean is taken.
    return scores.of("merged_norm") if measure == "norm" else scores.of(measure).mean(1)[:, None]


def input_links(
    matrix: Float[Tensor, "batch 1 target source"], sides: Sides, settings: LinkSettings
) -> tuple[LinkMatrix, WordMatrix]:
    """Return the links of a measure of the input, and its matrix between words."""
    words = sides.pairs["input"].pool(matrix)
    null = settings.null or "exclude"
    if settings.unit == "piece":
        return links_of_pieces(matrix, sides, "input", null), words
    return links_of_words(words, sides, null), words


def places(batch: Batch) -> Float[Tensor, "batch target source"]:
    """Return 1 for every pair of places that are no padding, else 0."""
    assert batch.target_mask is not None  # noqa: S101 - only translations come here
    return (batch.target_mask[:, :, None] * batch.attention_mask[:, None]).float()


def mean_of_places(
    score: Float[Tensor, "batch head target source"], mask: Float[Tensor, "batch target source"]
) -> Float[Tensor, "batch head"]:
    """Return the mean of every sentence and head."""
    share = mask[:, None].to(score.dtype)
    mean: Tensor = (score * share).sum((-2, -1)) / share.sum((-2, -1))
    return mean


WINDOW = 256
"""Pairs that are held at once; within them, pairs of similar length run together."""

Soft = Float[np.ndarray, "target_word source_word"]


@dataclass(frozen=True)
class Alignment:
    """The links of one pair.

    Attributes:
        pair: Sentence and translation.
        links: Numbers of a source word and of a target word, from 0, as blanks separate them.
        soft: Value of the measure for every target word (row) and source word: its share of the
            row, special tokens included, of signed measures of the sum of sizes; of hidden states
            the quality of the link, from 0 to 1.
        omitted: Reason why the pair was left out and has no links: ``empty`` or ``too long``.
    """

    pair: TranslationPair
    links: Links = frozenset()
    soft: Soft | None = field(default=None, repr=False)
    omitted: str = ""

    @property
    def scores(self) -> dict[tuple[int, int], float]:
        """Return the score of every link in `soft`."""
        if self.soft is None:
            return {}
        return {(i, j): float(self.soft[j, i]) for i, j in sorted(self.links)}


class PairAligner(ABC):
    """Base of aligners, which align pairs one window after the other.

    Args:
        model: Model that reads the pairs.
        settings: Settings of the alignment, see `AlignerSettings`.
    """

    def __init__(self, model: CapturedModel, settings: AlignerSettings) -> None:
        model.require_tokenizer("words are aligned")
        self.model = model
        self.settings = settings

    def align(self, pairs: Iterable[TranslationPair]) -> Iterator[Alignment]:
        """Yield an alignment for every pair, in their order; memory holds `WINDOW` pairs.

        Raises:
            CaptureError: A computed value is not finite, or memory does not suffice.
        """
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            yield from self._align_window(window)

    def _align_window(self, window: Sequence[TranslationPair]) -> list[Alignment]:
        alignments = [
            # Every pair is left out until the encoder yields it, too long unless a side is empty.
            Alignment(pair, omitted="too long" if pair.source and pair.target else "empty")
            for pair in window
        ]
        examples = list(encode(self.model, window, self.settings))
        for chosen in length_batches(examples, self.settings.batch_tokens):
            together = [examples[at] for at in chosen]
            for example, (links, soft) in zip(together, self._link_batch(together), strict=True):
                pair = window[example.index]
                alignments[example.index] = Alignment(pair, links, soft)
        return alignments

    @abstractmethod
    def _link_batch(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        """Yield the links and the soft matrix of each example of a batch."""


class Aligner(PairAligner):
    """Aligner by the attention or the gradients of a single model.

    Args:
        model: Encoder-decoder model; with its language-model head, if the measure is of the input.
        settings: Settings of the alignment, see `AlignerSettings`; a measure of attention needs its
            layer.

    Raises:
        UsageError: The model has no cross-attention, no such layer or head, or no tokenizer.
    """

    def __init__(self, model: CapturedModel, settings: AlignerSettings) -> None:
        model.require_translator()
        super().__init__(model, settings.for_model(model.name, translates=True))
        self._measure = self.settings.measure or "norm"
        self._sites = _chosen_sites(model, settings)
        self._verified = False

    def _link_batch(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        links, soft = self._batch(examples)
        for row, example in enumerate(examples):
            yield word_links(links[row, 0], example), _shares(soft[row, 0], example)

    def _batch(self, examples: Sequence[EncodedTranslation]) -> tuple[LinkMatrix, WordMatrix]:
        # The first batch verifies the capture for all that follow.
        if not self._verified:
            self._verify(examples)
        batch = self.model.collate(examples)
        sides = Sides.from_batch(batch)
        if self.settings.of_attention:
            return self._link_by_attention(batch, sides)
        return input_links(
            input_matrix(self.model, batch, self._measure, self.settings.inputs),
            sides,
            self.settings,
        )

    def _verify(self, examples: Sequence[EncodedTranslation]) -> None:
        if self.settings.of_attention:
            self._verified = self.model.verify_on(examples) is not None

    def _link_by_attention(self, batch: Batch, sides: Sides) -> tuple[LinkMatrix, WordMatrix]:
        results: list[tuple[LinkMatrix, WordMatrix]] = []

        def visit(record: LayerRecord) -> None:
            results.append(self._link_record(Scores(record, precision=torch.float32), sides))

        with self.model.capture(self._sites) as recorder:
            recorder.visit = visit
            self.model.run(batch)
        return results[0]

    def _link_record(self, scores: Scores, sides: Sides) -> tuple[LinkMatrix, WordMatrix]:
        measure, step, head = self._measure, self.settings.step, self.settings.head
        make = layer_matrix if head is None else word_score
        matrix = make(scores, measure, sides.pairs[step], self.settings.pooling)
        links = attention_links(
            scores, measure, sides, step, self.settings, by_head=head is not None
        )
        chosen = slice(0, 1) if head is None else slice(head, head + 1)
        return links[:, chosen], matrix[:, chosen]


def encode(
    model: CapturedModel, pairs: Iterable[TranslationPair], settings: AlignerSettings
) -> Iterable[EncodedTranslation]:
    """Encode pairs as examples; leave out those with an empty side, or too long."""
    return translations(
        pairs,
        model.require_tokenizer("words are aligned"),
        decoder_start=model.decoder_start,
        max_length=settings.max_length or model.longest,
        prefix=settings.prefix,
    )


def _chosen_sites(model: CapturedModel, settings: AlignerSettings) -> list[AttentionSite]:
    if not settings.of_attention:
        return []
    if settings.layer is None:
        raise UsageError("the layer is not chosen yet; name one, or see `choose_layer`.")
    sites = model.sites_of("cross", (settings.layer,))
    if settings.head is not None:
        sites[0].require_head(settings.head)
    return sites


def word_links(links: Tensor, example: EncodedTranslation) -> Links:
    """Return the numbers of linked words, from a matrix between target and source words."""
    pairs = links[: len(example.target_text), : len(example.source_text)].nonzero().tolist()
    return frozenset((source, target) for target, source in pairs)


def _shares(soft: Tensor, example: EncodedTranslation) -> Soft:
    """Return the share of every source word in the row of each target word."""
    targets, sources = len(example.target_text), len(example.source_text)
    numbers = soft[:targets].cpu().double().numpy()
    # Shares of signed measures are of the sum of sizes, which does not cancel.
    total = np.abs(numbers).sum(-1, keepdims=True)
    shares = np.divide(numbers, total, out=np.zeros_like(numbers), where=total > 0)
    return _word_columns(shares, example, targets, sources)


def _word_columns(
    shares: np.ndarray, example: EncodedTranslation, targets: int, sources: int
) -> Soft:
    """Return the columns of words alone, and a column of zeros for words without a piece."""
    units = _units(example.words)
    weights = np.zeros((targets, sources), dtype=np.float32)
    for unit, word in enumerate(units):
        if word >= 0:
            # Shares may have fewer rows than words, where the last words of a target have no piece.
            weights[: len(shares), word] = shares[:, unit]
    return weights


def _units(words: Sequence[int]) -> list[int]:
    """Return the word of every unit, special tokens as units of their own, in their order."""
    return [
        word
        for place, word in enumerate(words)
        if word < 0 or place == 0 or word != words[place - 1]
    ]


def reversed_pairs(pairs: Iterable[TranslationPair]) -> Iterator[TranslationPair]:
    """Return the pairs with source and target exchanged."""
    return (replace(pair, source=pair.target, target=pair.source) for pair in pairs)
