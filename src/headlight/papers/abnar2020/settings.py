"""How *Quantifying Attention Flow in Transformers* is reproduced; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight.papers.token_maps.settings import MapPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = "Quantifying Attention Flow in Transformers (Abnar and Zuidema 2020)"
    maps: ClassVar[tuple[str, ...]] = ("weight", "rollout", "gradient_input", "leave_one_out")
