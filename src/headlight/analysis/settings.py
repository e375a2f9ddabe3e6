"""How a corpus is looked at."""

from dataclasses import dataclass, replace

from headlight.analysis.batch_runner import BATCH_TOKENS
from headlight.attribution_settings import AttributionSettings
from headlight.capture import CapturedModel, Kind
from headlight.errors import UnknownNameError, UsageError
from headlight.measures import MEASURES, ValueBias, check_measures

SAMPLE_LENGTH = 256
"""Two paragraphs of the sample corpus."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to survey; everything that the result depends on besides model and corpus.

    Attributes:
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else what
            the model takes, at most 512.
        overflow: a longer text is ``truncate``d, ``split`` or an ``error``.
        segment_ids: with pairs, segment ids ``pair`` (0 and 1) or ``zeros`` (the released maps of
            Clark et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next (``join``),
            or ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after so many.
        kind: which attention: ``encoder``, ``decoder`` or ``cross``; by default the first of these
            that the model has, given the inputs.
        layers: which layers; by default all. The others keep their fast attention.
        measures: which of ``weight``, ``norm``, ``effective`` and, with a backward pass,
            ``gradient``; then all of them look at what the objective lets the model see, some
            tokens being masked; and ``attribution``, one row for each layer, at the place of its
            first head.
        attribution: how contributions are computed, if they are among the measures; by default
            they are estimated.
        value_bias: whether T of effective attention has the value bias in it.
        batch_tokens: tokens in a batch, padding included. The result does not depend on it.
        seed: where segments are cut.
    """

    pairs: bool = False
    max_length: int | None = None
    overflow: str = "truncate"
    segment_ids: str = "pair"
    lone_units: str = "join"
    max_examples: int | None = None
    kind: Kind | None = None
    layers: tuple[int, ...] | None = None
    measures: tuple[str, ...] = MEASURES
    attribution: AttributionSettings | None = None
    value_bias: ValueBias = "include"
    batch_tokens: int = BATCH_TOKENS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_examples is not None and self.max_examples < 1:
            raise UsageError(f"max_examples must be at least 1, not {self.max_examples}.")
        if self.batch_tokens < 1:
            raise UsageError(f"batch_tokens must be at least 1, not {self.batch_tokens}.")
        if self.kind not in (None, "encoder", "decoder", "cross"):
            raise UnknownNameError("kind of attention", self.kind, ("encoder", "decoder", "cross"))
        if self.value_bias not in ("include", "exclude"):
            raise UnknownNameError(
                "treatment of the value bias", self.value_bias, ("include", "exclude")
            )
        check_measures(self.measures)


def sample_settings(settings: Settings, model: CapturedModel) -> Settings:
    """What suits the sample corpus: two adjacent paragraphs per example."""
    if settings.max_length is not None:
        return replace(settings, pairs=True)
    longest = min(SAMPLE_LENGTH, model.longest or SAMPLE_LENGTH)
    return replace(settings, pairs=True, max_length=longest)
