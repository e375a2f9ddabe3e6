"""How papers on maps of tokens are reproduced; without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.corpora import SAMPLE_REVIEWS
from headlight.papers.settings import PaperSettings
from headlight.settings import AtLeast1, Range


@dataclass(frozen=True, kw_only=True)
class MapPaperSettings(PaperSettings):
    """Of a paper that asks which map of a text says what a prediction rests on.

    The class variable `maps` says which maps of the study are compared.

    Attributes:
        max_examples: texts.
        max_length: tokens of a text, special ones included; longer ones are cut.
        removal: how tokens are removed: they become the ``mask`` token, are left out (``delete``),
            or cannot be attended to (``attention``). By default ``mask`` where there is one.
    """

    reads: ClassVar[tuple[str, ...]] = ("text",)
    models: ClassVar[tuple[str, ...]] = ("model",)
    head: ClassVar[str | None] = "any"
    embedded: ClassVar[str] = EMBEDDED_CLASSIFIER
    sample: ClassVar[Path] = SAMPLE_REVIEWS
    maps: ClassVar[tuple[str, ...]]

    max_examples: AtLeast1 = 60
    max_length: Annotated[int, Range(minimum=8)] = 40
    removal: Literal["mask", "delete", "attention"] | None = None
