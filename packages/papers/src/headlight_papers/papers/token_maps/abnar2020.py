"""*Quantifying Attention Flow in Transformers* (Abnar and Zuidema 2020)."""

from dataclasses import dataclass

from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings, MapTable

ABNAR = "Abnar and Zuidema (2020)"


@dataclass(frozen=True, kw_only=True)
class Abnar2020(MapPaperSettings):
    """Attention rollout: *Quantifying Attention Flow in Transformers*."""

    name = "abnar2020"
    title = "Quantifying Attention Flow in Transformers (Abnar and Zuidema 2020)"
    introduction = (
        "Whether the weights of the last layer, or their rollout through all layers with half of "
        "each token kept, agree with leaving tokens out (blank-out) and with gradients. No "
        "published number was at hand. Maximal flow is not asked: it takes a problem of its own "
        "for every token."
    )
    maps = ("weight", "rollout", "gradient_input", "leave_one_out")
    source = ABNAR
    claims = (
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
    tables = (
        MapTable("agreement", "agreement", ABNAR),
        MapTable("removal", "removal", f"Beyond {ABNAR}"),
    )
