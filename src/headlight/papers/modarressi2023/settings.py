"""How *DecompX* is reproduced; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight.papers.token_maps.settings import MapPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = (
        "DecompX: Explaining Transformers Decisions by Propagating Token Decomposition "
        "(Modarressi et al. 2023)"
    )
    maps: ClassVar[tuple[str, ...]] = (
        "globenc",
        "alti",
        "decompx",
        "prediction",
        "gradient_input",
        "leave_one_out",
    )
