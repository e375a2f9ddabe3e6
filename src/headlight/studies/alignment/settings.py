"""What can be asked about word alignment, and where the papers leave a choice."""

from dataclasses import dataclass, field
from typing import Literal

from headlight.analysis.settings import BootstrapSettings, ModelSettings
from headlight.errors import UsageError
from headlight.settings import AtLeast1
from headlight.word_alignment.settings import (
    ATTENTION_MEASURES,
    AlignmentMeasure,
    InputMeasure,
    InputMeasureSettings,
    LinkSettings,
)


@dataclass(frozen=True, kw_only=True)
class AlignmentSettings(BootstrapSettings, LinkSettings, ModelSettings):
    """Everything that the result depends on besides model and pairs.

    Attributes:
        gold: file of gold links, a line or more for each pair (talp, Pharaoh, NAACL).
        gold_format: of that file; by default what it looks like.
        target: file of the translations, if the source holds the sources alone, line for line.
        format: of the pairs (``bars``, ``tsv``, ``csv``, ``jsonl``, ``tmx``); by default what
            their suffix or beginning says.
        columns: two names or numbers of columns, keys, or languages: of source and target.
        swap: pairs and links are from target to source, and are exchanged first.
        measures: by what words are linked: of cross-attention ``weight``, ``norm`` and
            ``effective``, by layer and by head; of the whole model ``gradient``, ``smoothgrad``
            and ``difference``, which cost as many more passes as a sentence has pieces.
        inputs: how gradients and differences are computed.
        prefix: what stands before every source, such as ``translate German to English:``.
        kind: cross-attention, from the words of one text to those of another.
        max_length: tokens of a sentence, special ones included; by default what the model takes.
            Longer pairs are refused.
        max_pairs: stop after so many.
    """

    gold: str | None = None
    gold_format: str | None = None
    target: str | None = None
    format: str | None = None
    columns: tuple[str, ...] | None = None
    swap: bool = False
    measures: tuple[AlignmentMeasure, ...] = ATTENTION_MEASURES
    inputs: InputMeasureSettings = field(default_factory=InputMeasureSettings)
    prefix: str = ""
    kind: Literal["cross"] = "cross"
    max_length: AtLeast1 | None = None
    max_pairs: AtLeast1 | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.measures:
            raise UsageError("no measure is asked for; name at least one.")

    @property
    def of_attention(self) -> tuple[str, ...]:
        """The measures of cross-attention that are asked for."""
        return tuple(name for name in self.measures if name in ATTENTION_MEASURES)

    @property
    def of_input(self) -> tuple[InputMeasure, ...]:
        """Those of the input of the whole model."""
        return tuple(name for name in self.measures if name not in ATTENTION_MEASURES)  # type: ignore[misc]
