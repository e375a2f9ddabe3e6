"""How links between words are found; without torch."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from headlight.errors import UsageError
from headlight.settings import CHOSEN, NO_EFFECT, AtLeast0, AtLeast1, Range, Settings
from headlight.vocabulary import NormPooling

Step = Literal["input", "output"]
"""The row of cross-attention that speaks for a target piece: where the decoder reads it (``input``,
AWI), or one place before, where it predicts it (``output``, AWO)."""

AttentionMeasure = Literal["norm", "weight", "effective"]
InputMeasure = Literal["gradient", "smoothgrad", "difference"]
AlignmentMeasure = Literal["norm", "weight", "effective", "gradient", "smoothgrad", "difference"]
Null = Literal["special", "exclude"]
Erase = Literal["zero", "unknown"]
GradientForm = Literal["input", "size"]

STEPS: tuple[Step, ...] = get_args(Step)
ATTENTION_MEASURES: tuple[AttentionMeasure, ...] = get_args(AttentionMeasure)
INPUT_MEASURES: tuple[InputMeasure, ...] = get_args(InputMeasure)


@dataclass(frozen=True, kw_only=True)
class InputMeasureSettings(Settings):
    """How gradients and differences of predictions are computed.

    Attributes:
        form: what is made of a gradient: ``input`` times gradient, where it is positive (Ding et
            al. 2019), or the mean ``size`` of its numbers (Li et al. 2016).
        samples: noisy copies of a sentence over which ``smoothgrad`` takes the mean.
        noise: their standard deviation, as a share of the range of the embeddings.
        erase: what stands in the place of an erased piece: an embedding of ``zero``, or the
            ``unknown`` token.
        seed: of the noise.
    """

    form: GradientForm = "input"
    samples: AtLeast1 = 30
    noise: Annotated[float, Range(above=0, maximum=1)] = 0.15
    erase: Erase = "zero"
    seed: AtLeast0 = 0


@dataclass(frozen=True, kw_only=True)
class LinkSettings(Settings):
    """How matrices between pieces become links between words.

    Attributes:
        null: whether special tokens of the source may win (``special``: the word then has no link,
            as in Kobayashi et al.), or are left out (``exclude``); by default they may in attention
            and not in gradients and differences, as published.
        unit: the soft matrix is pooled to ``word`` s first (sum over the pieces of a source word,
            mean over those of a target word), or every target ``piece`` has a link of its own.
        pooling: of norms over the pieces of a source word: the sum of ``norms``, or the norm of the
            summed ``vectors``.
    """

    null: Null | None = None
    unit: Literal["word", "piece"] = "word"
    pooling: NormPooling = "norms"

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
        measure: what of the model links words: in its cross-attention the ``norm`` of what all
            heads move from a source word, their mean ``weight`` or mean ``effective`` weight; or
            the ``gradient`` or ``smoothgrad`` of a predicted word, or the ``difference`` that a
            source word makes to its probability.
        step: the row of cross-attention: where the decoder reads the target word as ``input``, or
            where it predicts it as ``output``.
        layer: of cross-attention, from 0, or ``auto``: chosen without gold links.
        head: one head of the layer, from 0; by default all together.
        inputs: how gradients and differences are computed.
        prefix: what stands before every source, such as ``translate German to English:``.
        max_length: tokens of a sentence, special ones included; by default what the model takes.
        batch_tokens: tokens in a batch, padding included.
    """

    measure: AlignmentMeasure = "norm"
    step: Step = "input"
    layer: Annotated[AtLeast0 | None, CHOSEN] = None
    head: AtLeast0 | None = None
    inputs: InputMeasureSettings = field(default_factory=InputMeasureSettings)
    prefix: str = ""
    max_length: AtLeast1 | None = None
    batch_tokens: Annotated[AtLeast1, NO_EFFECT] = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head is not None and self.layer is None:
            raise UsageError("a head is one of a layer; name the layer as well.")
        if self.measure in INPUT_MEASURES and self.layer is not None:
            raise UsageError(
                f"{self.measure} looks at the input of the whole model and has no layers; leave "
                "out the layer, or choose norm, weight or effective."
            )

    @property
    def of_attention(self) -> bool:
        """Whether the measure is one of cross-attention."""
        return self.measure in ATTENTION_MEASURES
