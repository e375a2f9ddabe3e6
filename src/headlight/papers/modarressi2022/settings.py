"""How *GlobEnc* is reproduced; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight.papers.token_maps.settings import MapPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = (
        "GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole Encoder Layer in "
        "Transformers (Modarressi et al. 2022)"
    )
    maps: ClassVar[tuple[str, ...]] = (
        "rollout",
        "rollout_norm",
        "rollout_block_norm",
        "rollout_layer_norm",
        "globenc",
        "gradient_input",
        "leave_one_out",
    )
