"""*GlobEnc* (Modarressi et al. 2022): Table 1; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight_papers.papers.token_maps import Ahead, MapPaperSettings, MapTable

BY = "Modarressi et al. (2022)"
TABLE_1 = {
    "rollout": "−0.24, −0.05 and 0.13",
    "rollout_norm": "0.48, 0.55 and 0.48",
    "rollout_block_norm": "0.73, 0.75 and 0.66",
    "rollout_layer_norm": "−0.21, −0.06 and 0.08",
    "globenc": "0.77, 0.78 and 0.72",
}
"""Spearman's ρ with the norms of gradient × input, of classifiers of SST2, MNLI and HateXplain."""


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = (
        "GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole Encoder Layer in "
        "Transformers (Modarressi et al. 2022)"
    )
    introduction: ClassVar[str] = (
        "Which rollout agrees with gradients: of weights, of norms, with the residual connection, "
        "behind one norm and behind both (Table 1). Its published numbers are those of classifiers "
        "of SST2, MNLI and HateXplain. Not here are its rows without a residual (W and N), and of "
        "weights with the residual that norms show. There it is the length of gradient × input of "
        "the logit that maps are compared with, here the size of its sum, of the probability."
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
    source: ClassVar[str] = f"{BY}, Table 1"
    claims: ClassVar[tuple[Ahead, ...]] = tuple(
        Ahead(
            claim, first, second, "gradient_input", f"{TABLE_1[first]}; {TABLE_1[second]} (Table 1)"
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
    tables: ClassVar[tuple[MapTable, ...]] = (
        MapTable("agreement", "table-1", f"{BY}, Table 1", TABLE_1),
        MapTable("removal", "removal", f"Beyond {BY}"),
    )
