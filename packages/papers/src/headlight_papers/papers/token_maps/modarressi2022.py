"""*GlobEnc* (Modarressi et al. 2022)."""

from dataclasses import dataclass

from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings, MapTable

GLOBENC = "Modarressi et al. (2022)"
GLOBENC_RHO = {
    "rollout": "−0.24, −0.05 and 0.13",
    "rollout_norm": "0.48, 0.55 and 0.48",
    "rollout_block_norm": "0.73, 0.75 and 0.66",
    "rollout_layer_norm": "−0.21, −0.06 and 0.08",
    "globenc": "0.77, 0.78 and 0.72",
}
"""Spearman's ρ with the norms of gradient × input, of classifiers of SST2, MNLI and HateXplain."""


@dataclass(frozen=True, kw_only=True)
class Modarressi2022(MapPaperSettings):
    """*GlobEnc* (Modarressi et al. 2022)."""

    name = "modarressi2022"
    title = (
        "GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole Encoder Layer in "
        "Transformers (Modarressi et al. 2022)"
    )
    introduction = (
        "Which rollout agrees with gradients: of weights, of norms, with the residual connection, "
        "behind one norm and behind both (Table 1). Its published numbers are those of classifiers "
        "of SST2, MNLI and HateXplain. Not here are its rows without a residual (W and N), and of "
        "weights with the residual that norms show. There it is the length of gradient × input of "
        "the logit that maps are compared with, here the size of its sum, of the probability."
    )
    maps = (
        "rollout",
        "rollout_norm",
        "rollout_block_norm",
        "rollout_layer_norm",
        "globenc",
        "gradient_input",
        "leave_one_out",
    )
    source = f"{GLOBENC}, Table 1"
    claims = tuple(
        Ahead(
            claim,
            first,
            second,
            "gradient_input",
            f"{GLOBENC_RHO[first]}; {GLOBENC_RHO[second]} (Table 1)",
        )
        for claim, first, second in (
            ("Norms agree more than weights", "rollout_norm", "rollout"),
            (
                "The residual as it is counts for more than one half",
                "rollout_block_norm",
                "rollout_norm",
            ),
            ("One norm alone takes the agreement away", "rollout_block_norm", "rollout_layer_norm"),
            ("Both norms together bring more than none", "globenc", "rollout_block_norm"),
        )
    )
    tables = (
        MapTable("agreement", "table-1", f"{GLOBENC}, Table 1", GLOBENC_RHO),
        MapTable("removal", "removal", f"Beyond {GLOBENC}"),
    )
