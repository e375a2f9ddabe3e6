"""Attention rollout: *Quantifying Attention Flow in Transformers*; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight_papers.papers.token_maps import Ahead, MapPaperSettings, MapTable

BY = "Abnar and Zuidema (2020)"


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = "Quantifying Attention Flow in Transformers (Abnar and Zuidema 2020)"
    introduction: ClassVar[str] = (
        "Whether the weights of the last layer, or their rollout through all layers with half of "
        "each token kept, agree with leaving tokens out (blank-out) and with gradients. No "
        "published number was at hand. Maximal flow is not asked: it takes a problem of its own "
        "for every token."
    )
    maps: ClassVar[tuple[str, ...]] = ("weight", "rollout", "gradient_input", "leave_one_out")
    source: ClassVar[str] = BY
    claims: ClassVar[tuple[Ahead, ...]] = (
        Ahead(
            "Rollout agrees more with leaving tokens out than weights do",
            "rollout",
            "weight",
            "leave_one_out",
        ),
        Ahead(
            "Rollout agrees more with gradients than weights do",
            "rollout",
            "weight",
            "gradient_input",
        ),
    )
    tables: ClassVar[tuple[MapTable, ...]] = (
        MapTable("agreement", "agreement", BY),
        MapTable("removal", "removal", f"Beyond {BY}"),
    )
