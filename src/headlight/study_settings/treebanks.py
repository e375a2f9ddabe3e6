"""Settings of how the sentences of a treebank are read."""

from dataclasses import dataclass
from typing import Literal

from headlight.settings import AtLeast1
from headlight.study_settings.words import WordSettings


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(WordSettings):
    """Settings of how the sentences of a treebank are read.

    Attributes:
        max_length: tokens per sentence, special ones included; by default what the model takes, at
            most 512.
        overflow: handling of longer sentences: leave them out and count them (``skip``), truncate
            them (``truncate``), or refuse them with an ``error``.
    """

    max_length: AtLeast1 | None = None
    overflow: Literal["skip", "truncate", "error"] = "skip"

    def check_source(self, source: str | None) -> None:
        """The first sentence is read."""
        from headlight.corpora import open_treebank

        next(iter(open_treebank(str(source), format=self.format, invalid=self.invalid)))
