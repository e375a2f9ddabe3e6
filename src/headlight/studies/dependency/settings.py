"""What can be asked about heads as parsers, and where the paper and its code leave a choice."""

from dataclasses import dataclass
from typing import Literal, get_args

from headlight.analysis.settings import BATCH_TOKENS
from headlight.attribution_settings import AttributionSettings
from headlight.capture import Kind
from headlight.errors import UnknownNameError, UsageError
from headlight.measures import MEASURES, NormPooling, ValueBias, check_measures
from headlight.pool import Queries

Relations = Literal["full", "base"]
Possessive = Literal["clark", "strict"]
Offsets = Literal["notebook", "strict"]
Overflow = Literal["skip", "truncate", "error"]
Unencodable = Literal["error", "skip"]


@dataclass(frozen=True, kw_only=True)
class DependencySettings:
    """Everything that the result depends on besides model, loss and treebank.

    Attributes:
        measures: of ``weight``, ``norm``, ``effective`` and, with an objective, ``gradient``; and
            ``attribution``, one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures; by default
            they are estimated.
        queries: how the pieces of an attending word become one row: ``mean`` (the paper),
            ``first`` (the released program, by oversight), ``max``.
        pooling: of norms over the pieces of an attended word: sum of ``norms``, or of ``vectors``.
        relations: ``full`` names, or the ``base`` before the colon of Universal Dependencies.
        possessive: ``clark`` takes, for a possessor before *'s*, the prediction made for the *'s*;
            ``strict`` takes the possessor's own, as for all other words.
        offsets: the baselines: −3 … 2, clipped to the sentence, as in the authors' ``notebook``, or
            ``strict``: −5 … 5 without 0, and a place outside the sentence is no prediction.
        overflow: a sentence longer than `max_length` is left out and counted (``skip``), cut
            (``truncate``), or an ``error``.
        unencodable: a sentence of which the tokenizer drops a word is an ``error``, or is left out
            and counted (``skip``).
        max_length: tokens of a sentence at most, special ones included; by default what the model
            takes, at most 512.
        max_sentences: stop after so many.
        kind: which attention: ``encoder`` or ``decoder``; by default the first that the model has.
        layers: which layers; by default all.
        value_bias: whether T of effective attention has the value bias in it.
        batch_tokens: tokens in a batch, padding included.  The result does not depend on it.
        bootstrap: how often the sentences are resampled for the intervals; 0 for no intervals.
            Each costs four bytes per measure, head, direction and relation.
        seed: of the resampling.
    """

    measures: tuple[str, ...] = MEASURES
    attribution: AttributionSettings | None = None
    queries: Queries = "mean"
    pooling: NormPooling = "norms"
    relations: Relations = "full"
    possessive: Possessive = "clark"
    offsets: Offsets = "notebook"
    overflow: Overflow = "skip"
    unencodable: Unencodable = "error"
    max_length: int | None = None
    max_sentences: int | None = None
    kind: Kind | None = None
    layers: tuple[int, ...] | None = None
    value_bias: ValueBias = "include"
    batch_tokens: int = BATCH_TOKENS
    bootstrap: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if (chosen := getattr(self, name)) not in get_args(choices):
                raise UnknownNameError(f"choice of {name}", str(chosen), get_args(choices))
        check_measures(self.measures)
        if self.kind == "cross":
            raise UsageError(
                "cross-attention goes from one text to another, and a dependency is within one; "
                "choose encoder or decoder."
            )
        for name, least in _LEAST.items():
            if (number := getattr(self, name)) is not None and number < least:
                raise UsageError(f"{name} must be at least {least}, not {number}.")


_CHOICES = {
    "queries": Queries,
    "pooling": NormPooling,
    "relations": Relations,
    "possessive": Possessive,
    "offsets": Offsets,
    "overflow": Overflow,
    "unencodable": Unencodable,
    "value_bias": ValueBias,
}
_LEAST = {"max_length": 1, "max_sentences": 1, "batch_tokens": 1, "bootstrap": 0, "seed": 0}
