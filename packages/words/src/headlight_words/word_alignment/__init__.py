"""Alignment of the words of a sentence and its translation, as a model links them.

`soft` makes matrices between target and source words of cross-attention, and links of them;
`inputs` makes such matrices of gradients and of predictions without a word.  `aligner` does all of
it for a stream of pairs, `directions` with one model or two, and `choose` finds a layer.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from headlight.errors import UsageError
from headlight.settings import CHOSEN, AtLeast0, AtLeast1, Common, Range, Settings
from headlight.vocabulary import NormPooling

__all__ = ["AlignerSettings", "InputMeasureSettings", "LinkSettings"]

Step = Literal["input", "output"]
"""The row of cross-attention that speaks for a target piece: where the decoder reads it (``input``,
AWI), or one place before, where it predicts it (``output``, AWO)."""

AttentionMeasure = Literal["norm", "weight", "effective"]
InputMeasure = Literal["gradient", "smoothgrad", "difference"]
GradientForm = Literal["input", "size"]
AlignmentMeasure = Literal[
    "norm", "weight", "effective", "gradient", "smoothgrad", "difference", "similarity"
]
Extraction = Literal["argmax", "itermax", "match", "softmax", "forward", "reverse"]
"""Rule that turns similarities of two sentences' hidden states into links."""
Null = Literal["special", "exclude"]

STEPS: tuple[Step, ...] = get_args(Step)
ATTENTION_MEASURES: tuple[AttentionMeasure, ...] = get_args(AttentionMeasure)
INPUT_MEASURES: tuple[InputMeasure, ...] = get_args(InputMeasure)
EXTRACTIONS: tuple[Extraction, ...] = get_args(Extraction)


def check_measure(measure: AlignmentMeasure, name: str) -> None:
    """Refuse a measure that an encoder lacks.

    Args:
        measure: Measure by which words are to be linked.
        name: Name of a model without a decoder that attends to a source.

    Raises:
        UsageError: The measure is not the similarity of hidden states.
    """
    if measure != "similarity":
        raise UsageError(
            f"{measure} is of a translation model, and {name} has no decoder that attends to a "
            "source; leave out the measure for similarity, or name a translation model, such as "
            "Helsinki-NLP/opus-mt-de-en."
        )


@dataclass(frozen=True, kw_only=True)
class InputMeasureSettings(Settings):
    """Settings of the gradients of predictions.

    Attributes:
        form: saliency from a gradient: ``input`` times gradient, where it is positive (Ding et al.
            2019), or the mean ``size`` of its entries (Li et al. 2016).
        samples: noisy copies of a sentence that ``smoothgrad`` averages.
        seed: random seed of the noise.
    """

    form: GradientForm = "input"
    samples: AtLeast1 = 30
    seed: AtLeast0 = 0


@dataclass(frozen=True, kw_only=True)
class SimilaritySettings(Settings):
    """Settings of how similarities of hidden states are computed and become links.

    Attributes:
        iterations: iterations of ``itermax``, the first included.
        threshold: threshold of ``softmax``, which both probabilities of a link exceed.
        distortion: penalty on distant positions in the two sentences, from 0 to 1, except for
            ``softmax``.
    """

    iterations: AtLeast1 = 2
    threshold: Annotated[float, Range(minimum=0, below=1)] = 0.001
    distortion: Annotated[float, Range(minimum=0, maximum=1)] = 0.0


@dataclass(frozen=True, kw_only=True)
class LinkSettings(Settings):
    """Settings of how matrices between pieces become links between words.

    Attributes:
        null: special tokens of the source as candidates: allowed (``special``: a word that they win
            has no link, as in Kobayashi et al.), or excluded (``exclude``); by default allowed for
            attention and excluded for gradients and differences, as published. Hidden states of
            special tokens are never compared.
        unit: unit of linking: ``word``, with pieces pooled first (sum over the pieces of a source
            word and mean over those of a target word; mean of hidden states), or ``piece``, whose
            words are linked with them. By default words in translation models, and pieces in
            encoders, as published.
        pooling: pooling of norms over the pieces of a source word: the sum of ``norms``, or the
            norm of the summed ``vectors``.
        similarity: similarities of hidden states, and extraction of links.
    """

    null: Null | None = None
    unit: Literal["word", "piece"] | None = None
    pooling: NormPooling = "norms"
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit == "piece" and self.pooling == "vectors":
            raise UsageError(
                "vectors are summed over the pieces of a word, and pieces are linked here one by "
                "one; choose the unit word, or the pooling norms."
            )


@dataclass(frozen=True, kw_only=True)
class AlignerSettings(LinkSettings):
    """Everything that links depend on besides model and text.

    Attributes:
        measure: measure that links words: of cross-attention the merged ``norm``, the mean
            ``weight`` or mean ``effective`` weight; the ``gradient`` or ``smoothgrad`` of a
            predicted word, or the ``difference`` that a source word makes to its probability; or
            the ``similarity`` of the hidden states of an encoder. By default norm in translation
            models, and similarity in encoders.
        extraction: extraction of links from similarities: ``argmax``, ``itermax`` or ``match`` of
            cosines, as in SimAlign, or ``softmax`` of inner products, as in awesome-align; or
            argmax in one direction only: ``forward`` links every target word, ``reverse`` every
            source word. By default argmax.
        step: row of cross-attention: where the decoder reads the target word as ``input``, or where
            it predicts it as ``output``.
        layer: layer of cross-attention, from 0; of an encoder, the number of layers run. ``auto``:
            chosen without gold links; in encoders 8, or two thirds of fewer than 8.
        head: head of the layer, from 0; by default all together.
        inputs: computation of gradients.
        prefix: prompt before every source, such as ``translate German to English:``.
        max_length: tokens of a sentence, special ones included; by default what the model takes.
        batch_tokens: tokens in a batch, padding included.
    """

    measure: AlignmentMeasure | None = None
    extraction: Extraction | None = None
    step: Step = "input"
    layer: Common[Annotated[AtLeast0 | None, CHOSEN]] = None
    head: Common[AtLeast0 | None] = None
    inputs: InputMeasureSettings = field(default_factory=InputMeasureSettings)
    prefix: str = ""
    max_length: Common[AtLeast1 | None] = None
    batch_tokens: AtLeast1 = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head is not None and self.layer is None:
            raise UsageError("a head is one of a layer; name the layer as well.")
        if self.measure in INPUT_MEASURES and self.layer is not None:
            raise UsageError(
                f"{self.measure} looks at the input of the whole model and has no layers; leave "
                "out the layer, or choose norm, weight or effective."
            )
        if self.measure == "similarity":
            self._check_similarity()

    def _check_similarity(self) -> None:
        """Refuse options that only other measures have."""
        options = {
            "head": self.head is not None,
            "step": self.step != "input",
            "null": self.null is not None,
            "pooling": self.pooling != "norms",
        }
        if named := [name for name, is_set in options.items() if is_set]:
            raise UsageError(
                f"{named[0]} is of attention, and hidden states are compared here; leave it out, "
                "or align with a translation model by another measure."
            )

    def for_model(self, name: str, *, translates: bool) -> "AlignerSettings":
        """Return the settings with the measure that suits a model, where none is named.

        Args:
            name: Name of the model.
            translates: Whether it has a decoder that attends to a source.

        Raises:
            UsageError: The model lacks the measure, or an extraction of links from similarities is
                set where the measure is another.
        """
        measure = self.measure or ("norm" if translates else "similarity")
        if not translates:
            check_measure(measure, name)
        has_similarity = self.extraction is not None or self.similarity != SimilaritySettings()
        if measure != "similarity" and has_similarity:
            raise UsageError(
                f"the extraction of links is of similarities, and {name} is a translation model, "
                f"with the measure {measure}; leave it out, or choose the measure similarity."
            )
        return self.replace(measure=measure)

    @property
    def of_attention(self) -> bool:
        """Whether the measure is of cross-attention."""
        return self.measure in (None, *ATTENTION_MEASURES)

    @property
    def of_hidden_states(self) -> bool:
        """Whether the measure is the similarity of an encoder's hidden states."""
        return self.measure == "similarity"
