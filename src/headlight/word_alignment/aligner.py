"""Align a stream of sentence pairs with one model, or with one for each direction."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.corpora import TranslationPair
from headlight.encode import EncodedTranslation, length_batches, translations
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.links import Links
from headlight.measures import Scores
from headlight.word_alignment.inputs import input_matrix
from headlight.word_alignment.settings import AlignerSettings
from headlight.word_alignment.soft import (
    LinkMatrix,
    Sides,
    WordMatrix,
    attention_links,
    head_matrices,
    input_links,
    layer_matrix,
)

WINDOW = 256
"""Pairs that are held at once; within them, pairs of similar length run together."""

Soft = Float[np.ndarray, "target_word source_word"]


@dataclass(frozen=True)
class Alignment:
    """The links of one pair.

    Attributes:
        pair: The sentences.
        links: Numbers of a source word and of a target word, from 0, as blanks separate them.
        soft: What the measure says of every target word (row) and source word: its share of the
            row, special tokens included, of signed measures of the sum of sizes; of hidden states
            how good a link it would be, from 0 to 1.
        omitted: Why the pair has no links, where it was left out: ``empty`` or ``too long``.
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
    """Aligns pairs one window after the other.

    Args:
        model: That reads them.
        settings: See `AlignerSettings`.
    """

    def __init__(self, model: CapturedModel, settings: AlignerSettings) -> None:
        model.require_tokenizer("words are aligned")
        self.model = model
        self.settings = settings

    def align(self, pairs: Iterable[TranslationPair]) -> Iterator[Alignment]:
        """One alignment for every pair, in their order; memory holds `WINDOW` pairs.

        Raises:
            CaptureError: What the model computes is not finite, or memory does not suffice.
        """
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            yield from self._align_window(window)

    def _align_window(self, window: Sequence[TranslationPair]) -> list[Alignment]:
        found = [Alignment(pair, omitted=_why_omitted(pair)) for pair in window]
        examples = list(encode(self.model, window, self.settings))
        for chosen in length_batches(examples, self.settings.batch_tokens):
            together = [examples[at] for at in chosen]
            for example, (links, soft) in zip(together, self._found(together), strict=True):
                pair = window[example.index]
                found[example.index] = Alignment(pair, links, soft)
        return found

    @abstractmethod
    def _found(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        """The links and the soft matrix of each example of a batch."""


class Aligner(PairAligner):
    """Finds links with the attention or the gradients of one model.

    Args:
        model: An encoder-decoder model; with its language-model head, if the measure is one of the
            input.
        settings: See `AlignerSettings`; a measure of attention needs its layer.

    Raises:
        UsageError: The model has no cross-attention, no such layer or head, or no tokenizer.
    """

    def __init__(self, model: CapturedModel, settings: AlignerSettings) -> None:
        model.require_translator()
        super().__init__(model, settings.for_model(model.name, translates=True))
        self._measure = self.settings.measure or "norm"
        self._sites = _chosen_sites(model, settings)
        self._verified = False

    def _found(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        links, soft = self._batch(examples)
        for row, example in enumerate(examples):
            yield word_links(links[row, 0], example), _shares(soft[row, 0], example)

    def _batch(self, examples: Sequence[EncodedTranslation]) -> tuple[LinkMatrix, WordMatrix]:
        if not self._verified:
            self._verify(examples)
        batch = self.model.collate(examples)
        sides = Sides.of(batch)
        if self.settings.of_attention:
            return self._by_attention(batch, sides)
        return input_links(
            input_matrix(self.model, batch, self._measure, self.settings.inputs),
            sides,
            self.settings,
        )

    def _verify(self, examples: Sequence[EncodedTranslation]) -> None:
        """Check Eq. 3 of the captured attention, and padding, on real input, once."""
        if self.settings.of_attention:
            self._verified = self.model.verify_on(examples) is not None

    def _by_attention(self, batch: Batch, sides: Sides) -> tuple[LinkMatrix, WordMatrix]:
        found: list[tuple[LinkMatrix, WordMatrix]] = []

        def visit(record: LayerRecord) -> None:
            found.append(self._of_record(Scores(record, precision=torch.float32), sides))

        with self.model.capture(self._sites) as recorder:
            recorder.visit = visit
            self.model.run(batch)
        return found[0]

    def _of_record(self, scores: Scores, sides: Sides) -> tuple[LinkMatrix, WordMatrix]:
        measure, step, head = self._measure, self.settings.step, self.settings.head
        make = layer_matrix if head is None else head_matrices
        matrix = make(scores, measure, sides.pairs[step], self.settings.pooling)
        links = attention_links(
            scores, measure, sides, step, self.settings, by_head=head is not None
        )
        chosen = slice(0, 1) if head is None else slice(head, head + 1)
        return links[:, chosen], matrix[:, chosen]


def encode(
    model: CapturedModel, pairs: Iterable[TranslationPair], settings: AlignerSettings
) -> Iterable[EncodedTranslation]:
    """The pairs as examples; those that cannot be are left out."""
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


def _why_omitted(pair: TranslationPair) -> str:
    return "too long" if pair.source and pair.target else "empty"


def word_links(links: Tensor, example: EncodedTranslation) -> Links:
    """The numbers of the words that are linked, of a matrix of target and source words."""
    found = links[: len(example.target_text), : len(example.source_text)].nonzero().tolist()
    return frozenset((source, target) for target, source in found)


def _shares(soft: Tensor, example: EncodedTranslation) -> Soft:
    """The share of every source word in the row of each target word."""
    targets, sources = len(example.target_text), len(example.source_text)
    numbers = soft[:targets].cpu().double().numpy()
    total = np.abs(numbers).sum(-1, keepdims=True)
    shares = np.divide(numbers, total, out=np.zeros_like(numbers), where=total > 0)
    return _of_words(shares, example, targets, sources)


def _of_words(shares: np.ndarray, example: EncodedTranslation, targets: int, sources: int) -> Soft:
    """Columns of words alone, a column of zeros for words without a piece."""
    units = _units(example.words)
    made = np.zeros((targets, sources), dtype=np.float32)
    for unit, word in enumerate(units):
        if word >= 0:
            made[: len(shares), word] = shares[:, unit]
    return made


def _units(words: Sequence[int]) -> list[int]:
    """The word of every unit, special tokens as units of their own, in their order."""
    return [
        word
        for place, word in enumerate(words)
        if word < 0 or place == 0 or word != words[place - 1]
    ]


def reversed_pairs(pairs: Iterable[TranslationPair]) -> Iterator[TranslationPair]:
    """Return the pairs with source and target exchanged."""
    return (replace(pair, source=pair.target, target=pair.source) for pair in pairs)
