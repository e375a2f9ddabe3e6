"""Settings of annotated text: attention between words, and sentences of a treebank."""

from dataclasses import dataclass
from typing import Literal

from headlight.settings import AtLeast1, Common
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

    kind: Common[Kind | None] = None
    format: Common[str | None] = None
    invalid: Literal["refuse", "skip"] = "refuse"
    unencodable: Literal["error", "skip"] = "error"
    queries: QueryPooling = "mean"
    pooling: NormPooling = "norms"


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(WordSettings):
    """Settings of how the sentences of a treebank are read.

    Attributes:
        max_length: tokens per sentence, special ones included; by default what the model takes, at
            most 512.
        overflow: handling of longer sentences: leave them out and count them (``skip``), truncate
            them (``truncate``), or refuse them with an ``error``.
    """

    max_length: Common[AtLeast1 | None] = None
    overflow: Literal["skip", "truncate", "error"] = "skip"

    def check_source(self, source: str | None) -> None:
        """Read the first sentence, so that a faulty treebank is refused at once."""
        from headlight_words.corpora import open_treebank

        next(iter(open_treebank(str(source), format=self.format, invalid=self.invalid)))
