"""Settings of papers on maps of tokens, which say all of such a paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.corpora import SAMPLE_REVIEWS
from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import PaperSettings


@dataclass(frozen=True)
class Ahead:
    """Claim that one map is better than another.

    Attributes:
        claim: Claim in a few words.
        first: Better map.
        second: Other map.
        question: Question by which it is judged; the more, the better.
        published: Result of the paper.
    """

    claim: str
    first: str
    second: str
    question: str
    published: str = "so in the paper; no number was at hand"


@dataclass(frozen=True)
class MapTable:
    """Table of a paper on maps of tokens.

    Attributes:
        shows: Agreement of maps with gradients and with leaving tokens out (``agreement``), or
            losses without the tokens that they rank first (``removal``).
        name: Name of the exhibit.
        source: Citation of its place in the paper.
        published: Numbers of the paper in words, by map.
    """

    shows: Literal["agreement", "removal"]
    name: str
    source: str
    published: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MapPaperSettings(PaperSettings):
    """Settings of a paper that asks which map of a text explains a prediction.

    Class variables say all of such a paper: its `name`; `maps`, those of the study that are
    compared; `claims`, what it concludes, and `source`, where; `tables`; and the `introduction` of
    its page.

    Attributes:
        max_examples: texts.
        max_length: tokens of a text, special ones included; longer texts are truncated.
        removal: removal of tokens: replace them by the ``mask`` token, delete them (``delete``), or
            exclude them from attention (``attention``). By default ``mask`` where there is one.
    """

    reads: ClassVar[tuple[str, ...]] = ("text",)
    models: ClassVar[tuple[str, ...]] = ("model",)
    head: ClassVar[str] = "any"
    embedded: ClassVar[str] = EMBEDDED_CLASSIFIER
    sample: ClassVar[Path] = SAMPLE_REVIEWS
    name: ClassVar[str]
    introduction: ClassVar[str]
    maps: ClassVar[tuple[str, ...]]
    source: ClassVar[str]
    claims: ClassVar[tuple[Ahead, ...]]
    tables: ClassVar[tuple[MapTable, ...]]

    max_examples: AtLeast1 = 60
    max_length: Annotated[int, Range(minimum=8)] = 40
    removal: Literal["mask", "delete", "attention"] | None = None
