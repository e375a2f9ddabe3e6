"""How the paper on ALTI (Ferrando et al. 2022) is reproduced; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight.papers.token_maps.settings import MapPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = (
        "Measuring the Mixing of Contextual Information in the Transformer (Ferrando et al. 2022)"
    )
    maps: ClassVar[tuple[str, ...]] = (
        "rollout",
        "rollout_norm",
        "globenc",
        "alti",
        "gradient_input",
        "leave_one_out",
    )
