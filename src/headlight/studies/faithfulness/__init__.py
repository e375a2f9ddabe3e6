"""Faithfulness of maps: how well they rank the tokens that a prediction depends on."""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue import TEXT, Study
from headlight.settings import AtLeast1, Common, require_distinct
from headlight.settings.flow import FollowedMap
from headlight.study_settings.classifiers import RowsOfText
from headlight.study_settings.texts import TextSettings

RANDOM = "random"
"""Name of the control beside all maps: a random order, independent of the text."""

Removal = Literal["mask", "delete", "attention"]
"""Way to remove a word."""

LayerMeasure = Literal["weight", "norm", "effective", "merged_norm"]
"""Measure of attention whose mean over heads is a map."""

TokenMap = Literal[
    LayerMeasure, "attribution", "prediction", "gradient_input", "leave_one_out", FollowedMap
]
"""Map by which the tokens of a text are ordered."""

REFERENCES: tuple[TokenMap, ...] = ("leave_one_out", "gradient_input")
"""Maps of the prediction itself, with which all others are correlated."""

Question = Literal["removal", "flips", "correlation"]

Shares = Literal["tenths", "eraser"]
"""Choice of the shares of the tokens that are removed."""


@dataclass(frozen=True, kw_only=True)
class FaithfulnessSettings(TextSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        maps: maps that rank tokens. Of single layers, averaged over heads: ``weight``, ``norm``,
            ``effective``, and ``merged_norm``, the norm of the sum over heads. Of all layers:
            ``attribution``, the change of a hidden token with an input token (slow);
            ``prediction``, the contribution of an input token to the logit in the linear network of
            the text; and maps that follow input tokens through the layers: ``rollout`` of weights,
            of norms (``rollout_norm``, ``rollout_block_norm``, ``rollout_layer_norm``),
            ``globenc``, ``alti``, ``value_zeroing`` and ``decompx``. Of the prediction itself:
            ``gradient_input``, the gradient of the probability times the embedding, and
            ``leave_one_out``, the loss of probability without the token. A random order is the
            control.
        questions: tests of each map: the effect on the prediction of removing the tokens ranked
            first and last (``removal``), the share of tokens whose removal flips the prediction
            (``flips``), and the correlation of maps with one another, with gradients and with
            leave-one-out (``correlation``).
        units: units of ranking and removal: single ``tokens``, or ``words``, which stand between
            blanks and have the sum of their pieces.
        removal: removal of a token: replace it by the ``mask`` token (or the unknown token, if
            there is no mask), ``delete`` it, or exclude it from ``attention``. By default ``mask``
            if the tokenizer has a mask token, else ``delete``.
        shares: shares of tokens that are removed: ``tenths``, 10 to 90%, or those of ``eraser``, 1,
            5, 10, 20 and 50%, rounded up; for sufficiency the same shares are kept.
        rows: row of a map that explains the prediction: by default that of the predicting token,
            and for a classifier the ``first`` of an encoder and the ``last`` of a decoder; ``mean``
            averages all.
        layers: layers whose maps are averaged, for maps of single layers; by default the last.
        coefficient: correlation coefficient: ``spearman`` (ρ) or ``kendall`` (τ, as in Jain and
            Wallace).
        signed: correlate signed values of gradients, leave-one-out and predictions; by default
            their absolute values, as attention has no sign.
        random_orders: number of random orders of each text, whose scores are averaged.
        seed: random seed of orders, of the token that a masked language model predicts, and of
            pairs.
    """

    maps: Common[tuple[TokenMap, ...]] = (
        "weight",
        "merged_norm",
        "rollout",
        "rollout_norm",
        "globenc",
        "alti",
        "decompx",
        "prediction",
        "gradient_input",
        "leave_one_out",
    )
    questions: tuple[Question, ...] = ("removal",)
    units: Common[Literal["tokens", "words"]] = "tokens"
    removal: Removal | None = None
    shares: Shares = "tenths"
    rows: Common[RowsOfText | None] = None
    coefficient: Literal["spearman", "kendall"] = "spearman"
    signed: bool = False
    random_orders: AtLeast1 = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("maps", self.maps)
        require_distinct("questions", self.questions)

    @property
    def required_head(self) -> str:
        """Return ``any``: the head of a language model or of a classifier."""
        return "any"

    @property
    def compared(self) -> tuple[str, ...]:
        """Return the names of all maps, the random order last."""
        return (*self.maps, RANDOM)


STUDY = Study(
    name="faithfulness",
    title="faithfulness of maps to predictions",
    question="test which maps rank the tokens that a prediction depends on first",
    papers="DeYoung et al. 2020; Jain and Wallace 2019; Serrano and Smith 2019; Edin et al. 2025",
    source=TEXT,
    settings=FaithfulnessSettings,
    examples=(
        ("wiki/ --model ./smollm2 --max-length 48 --max-examples 50", "next tokens"),
        ("reviews.tsv --column text --model ./my-classifier --units words", "predicted classes"),
        ("reviews.tsv --model ./my-classifier --questions correlation", "which maps agree"),
    ),
    smallest={
        "maps": ["weight", "gradient_input", "leave_one_out"],
        "questions": ["removal", "flips", "correlation"],
        "random_orders": 1,
        "max_length": 16,
        "max_examples": 4,
    },
    order=14,
)
