"""How attention between words is read off; without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.settings import NO_EFFECT, AtLeast1, Settings
from headlight.vocabulary import NormPooling, QueryPooling


@dataclass(frozen=True, kw_only=True)
class WordMapSettings(Settings):
    """Everything that word maps depend on, besides model and treebank.

    Attributes:
        max_length: tokens per sentence, special ones included; by default what the model takes, at
            most 512.
        overflow: what becomes of a sentence that is longer.
        unencodable: what becomes of a sentence with a word that the tokenizer drops.
        queries: how the pieces of the attending word are joined: ``mean`` (Clark et al. 2019,
            Section 4.1), ``first`` (their released code) or ``max``.
        pooling: how norms are joined over the pieces of the attended word.
        batch_tokens: tokens in a batch, padding included.
    """

    max_length: AtLeast1 | None = None
    overflow: Literal["skip", "truncate", "error"] = "skip"
    unencodable: Literal["error", "skip"] = "error"
    queries: QueryPooling = "mean"
    pooling: NormPooling = "norms"
    batch_tokens: Annotated[AtLeast1, NO_EFFECT] = 2048
