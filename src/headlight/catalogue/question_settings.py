"""Settings of the questions of one text."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from headlight.errors import UsageError, per_door, setting
from headlight.settings import (
    AtLeast0,
    AtLeast1,
    Common,
    Heads,
    Layers,
    Range,
    Settings,
    require_distinct,
)
from headlight.settings.attribution import AttributionSettings, Slope
from headlight.vocabulary import ROUTE, Kind, Kinds, ValueBias, require_names_of_heads

USUAL_METHODS = ("rollout", "globenc", "alti")
"""Methods of following tokens that need one forward pass."""


WHOLE_VIEW = (
    "the view shows all heads of a text, and of two readings all queries; leave "
    f"{setting('heads')} and {setting('queries')} out, or write what is kept "
    f"{per_door(python='as .json or .nc', command_line='with --json or --out', app='elsewhere')}."
)
"""Refusal of a view of some heads, or of some queries of two readings."""


@dataclass(frozen=True, kw_only=True)
class ReadingSettings(Settings):
    """Settings of how a text is read.

    Attributes:
        kind: kind of attention; by default the first that the model has; ``all`` shows all kinds.
        layers: layers to show, from 0; by default all.
        heads: heads of each layer to keep, from 0; by default all.
        queries: positions of attending tokens to keep, from 0; by default all.
        value_bias: value bias in T of effective attention.
        attribution: contributions of input tokens to hidden tokens, which cost more than everything
            else together; if true, they are estimated with the default settings.
        residual: also compute the measures that see the residual connection and the norm behind it,
            ``block_norm`` and ``layer_norm``.
    """

    kind: Common[Kinds | None] = None
    layers: Common[Layers | None] = None
    heads: Common[Heads | None] = None
    queries: tuple[AtLeast0, ...] | None = None
    value_bias: ValueBias = "include"
    attribution: bool | AttributionSettings = False
    residual: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attribution and self.kind == "all":
            raise UsageError(
                "contributions are those of one kind of attention at a time; choose one, or do "
                "without contributions."
            )

    @property
    def contributions(self) -> AttributionSettings | None:
        """Return the settings of the contributions; None where they are not computed."""
        return AttributionSettings() if self.attribution is True else self.attribution or None

    def require_subject(
        self, text: object, pair: object, *, audio: Any, image: Any, compares: bool = False
    ) -> None:
        """Refuse, whatever the model, what cannot be read, or not so.

        Args:
            text: Text, chat, or transcript of the recording.
            pair: Second text.
            audio: Recording.
            image: Picture.
            compares: Whether another reading is compared with this one.

        Raises:
            UsageError: There is nothing to read, or a recording or a picture is read with something
                that only texts are read with.
        """
        if text is None and audio is None and image is None:
            what = per_door(
                python="a text, ids, audio, or an image",
                command_line="a text, --chat, --audio, or --image",
                app="a text, or choose a picture",
            )
            raise UsageError(f"there is nothing to read; give {what}.")
        is_plain = text is None or isinstance(text, str)
        only_of_texts = pair is not None or compares or bool(self.attribution) or not is_plain
        if image is not None and (audio is not None or only_of_texts):
            raise UsageError(
                "a picture is read alone or beside one text, without sound, chats, contributions "
                "and comparisons; leave the others out."
            )
        if audio is not None and (only_of_texts or self.residual):
            raise UsageError(
                "speech is read with one transcript, without contributions, residual, comparisons "
                "and chats; leave the others out."
            )


@dataclass(frozen=True, kw_only=True)
class TargetSettings(Settings):
    """Settings of the logit, or difference of logits, that is looked at.

    Attributes:
        target: word that continues the text, such as " he", or fills the mask; or the name or
            number of a class; by default the prediction of the model.
        against: another word or class, whose logit is subtracted.
        position: position of the predicting token, from 0; by default the last of the text, or its
            first mask.
        compare_text: second text with the same number of tokens, such as one that differs in a
            word.
    """

    target: str | None = None
    against: str | None = None
    position: int | None = None
    compare_text: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("target", "against"):
            if getattr(self, name) == "":
                raise UsageError(f"{setting(name)} is empty; write a word, or leave it out.")


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(TargetSettings):
    """Settings of the prediction to explain.

    Attributes:
        slope: slope of linearized activations: ``zero_origin`` (act(x)/x), ``chord`` from the bias,
            or ``derivative``.
    """

    slope: Slope = "zero_origin"


@dataclass(frozen=True, kw_only=True)
class RouteSettings(Settings):
    """Settings of the routes to show; all shares are computed.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        token: token whose routes are shown, from 0, or from -1 backwards; by default the last word.
        layer: layer after which the token is followed, from 0; by default the last.
        least: smallest share of the token that a shown link brings.
        compare_text: second text with the same number of tokens, such as one that differs in a
            word; heads are then named that take most more, or less, than in it.
    """

    kind: Kind | None = None
    token: int | None = None
    layer: AtLeast0 | None = None
    least: Annotated[float, Range(minimum=0, maximum=1)] = ROUTE
    compare_text: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExplanationSettings(Settings):
    """Settings of the cell of an attention matrix to explain.

    Attributes:
        layer: layer, from 0; by default that of the head with the largest weight.
        head: head, from 0; by default the one with the largest weight.
        query: attending token, from 0, or from -1 backwards.
        key: attended token; by default the one with the largest weight, except the first token and
            the query.
        against_key: another token that the query sees; the difference of the two scores is then
            taken apart, which alone moves weight from one to the other.
        kind: kind of attention; by default the first that the model has.
    """

    layer: AtLeast0 | None = None
    head: AtLeast0 | None = None
    query: int = -1
    key: int | None = None
    against_key: int | None = None
    kind: Kind | None = None


@dataclass(frozen=True, kw_only=True)
class TextFlowSettings(Settings):
    """Settings of the flow of tokens.

    Attributes:
        methods: methods of attribution; see `headlight.settings.flow.METHODS`.
        kind: kind of attention; by default the first that the model has.
        layers: layers after which tokens are analysed, from 0; by default all.
        attribution: computation of ``attribution``, if it is among the methods.
    """

    methods: tuple[str, ...] = USUAL_METHODS
    kind: Kind | None = None
    layers: Layers | None = None
    attribution: AttributionSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("methods", self.methods)


@dataclass(frozen=True, kw_only=True)
class AlternativeSettings(Settings):
    """Settings of the search for alternatives.

    Attributes:
        layer: layer, from 0.
        head: head, from 0.
        number: number of alternatives.
        kind: kind of attention; by default the first that the model has.
        method: ``random``: along a random direction of LN([T, 1]), Eq. 7 of the paper; or
            ``farthest``: the largest total variation that repeated linear programs find.
        distance: step, as a share of λ_max or of the way to the farthest; above 0 and at most 1.
        queries: positions of the rows that change; by default all.
        certify: also bound the total variation tightly, by two linear programs per key and row.
        precision: precision of the ``model``, or ``float64`` for a copy of it, in which equal
            outputs agree to about 1e-12, unless the model computes softmax in float32.
        seed: random seed of the directions.
    """

    layer: Common[AtLeast0] = 0
    head: Common[AtLeast0] = 0
    number: Common[AtLeast1] = 1
    kind: Common[Kind | None] = None
    method: Common[Literal["random", "farthest"]] = "random"
    distance: Annotated[float, Range(above=0, maximum=1)] = 1.0
    queries: tuple[AtLeast0, ...] | None = None
    certify: bool = False
    precision: Literal["model", "float64"] = "model"
    seed: AtLeast0 = 0


@dataclass(frozen=True, kw_only=True)
class PatchSettings(TargetSettings):
    """Settings of the heads to patch, one at a time, with those of the other text.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        layers: layers whose heads are patched, from 0; by default all.
    """

    kind: Kind | None = None
    layers: Layers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compare_text is None:
            raise UsageError(
                f"heads are patched with those of another text; say which with "
                f"{setting('compare_text=')} (a second text behind the first is its second "
                "segment)."
            )


@dataclass(frozen=True, kw_only=True)
class SimilaritySettings(Settings):
    """Settings of the similarity of two texts.

    Attributes:
        number: pairs of words, the largest, whose removal is computed.
    """

    number: Common[AtLeast1] = 10


@dataclass(frozen=True, kw_only=True)
class GenerationSettings(Settings):
    """Settings of the text to generate.

    Attributes:
        max_new_tokens: tokens to generate at most, each time the most probable one.
        layers: layers to read, from 0; by default all.
        predict: decompose the logit of each generated token into what the tokens before it add.
    """

    max_new_tokens: AtLeast1 = 20
    layers: Layers | None = None
    predict: bool = False


@dataclass(frozen=True, kw_only=True)
class SourceSettings(Settings):
    """Settings of how passages are compared.

    Attributes:
        number: heads that are chosen, those that copy most of hidden facts.
        chosen: names of heads, such as L17H4, in the place of these.
        measures: measures of attention whose shares are compared.
        orders: different orders of the passages over which numbers are averaged, the first as they
            are; all orders, where there are no more.
        masks: random sets of passages in each order, to which a linear model is fitted.
        max_new_tokens: tokens of an answer that the model writes, at most.
        predict: compute direct contributions to the answer.
        needles: hidden facts by which heads are chosen.
        haystack: tokens of each text with a hidden fact.
        seed: random seed of orders and sets.
    """

    number: Common[AtLeast1] = 10
    chosen: tuple[str, ...] | None = None
    measures: Common[tuple[Literal["weight", "norm"], ...]] = ("weight",)
    orders: AtLeast1 = 2
    masks: AtLeast0 = 16
    max_new_tokens: AtLeast1 = 20
    predict: bool = True
    needles: AtLeast1 = 12
    haystack: AtLeast1 = 200
    seed: AtLeast0 = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("measures", self.measures)
        require_names_of_heads(self.chosen or ())
