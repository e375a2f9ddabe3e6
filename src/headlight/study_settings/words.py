"""Settings of annotated text, and of attention between words."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.settings import UNLISTED
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import Kind, NormPooling, QueryPooling


@dataclass(frozen=True, kw_only=True)
class WordSettings(ModelSettings):
    """Settings of annotated text, and of attention between words instead of pieces.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        format: format of the files; by default inferred from suffix or content.
        invalid: handling of invalid annotation: refuse it with an error (``refuse``), or leave the
            sentence or document out and count it (``skip``).
        unencodable: handling of words that the tokenizer drops: refuse them with an ``error``, or
            leave the sentence or document out and count it (``skip``).
        queries: pooling over the pieces of the attending word: ``mean`` (Clark et al. 2019, Section
            4.1), ``first`` (their released code) or ``max``.
        pooling: pooling of norms over the pieces of the attended word: the sum of the ``norms``, or
            the norm of the summed ``vectors``.
    """

    kind: Kind | None = None
    format: str | None = None
    invalid: Literal["refuse", "skip"] = "refuse"
    unencodable: Literal["error", "skip"] = "error"
    queries: QueryPooling = "mean"
    pooling: Annotated[NormPooling, UNLISTED] = "norms"
