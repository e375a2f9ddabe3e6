"""*DecompX* (Modarressi et al. 2023)."""

from dataclasses import dataclass

from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings, MapTable

DECOMPX = "Modarressi et al. (2023)"
DECOMPX_AOPC = {
    "globenc": "0.307 (SST2)",
    "alti": "0.416 (SST2), 0.515 (MNLI), 0.355 (QNLI), 0.469 (HateXplain)",
    "prediction": "0.627 (SST2), 0.703 (MNLI), 0.453 (QNLI), 0.612 (HateXplain)",
    "gradient_input": "0.310 (SST2)",
}
"""AOPC of classifiers, without 10 to 90% of the tokens, which become masks."""


@dataclass(frozen=True, kw_only=True)
class Modarressi2023(MapPaperSettings):
    """*DecompX* (Modarressi et al. 2023)."""

    name = "modarressi2023"
    title = (
        "DecompX: Explaining Transformers Decisions by Propagating Token Decomposition "
        "(Modarressi et al. 2023)"
    )
    introduction = (
        "Which map puts those tokens first without which a prediction changes (Table 1). DecompX "
        "follows the vectors of tokens through the frozen layers to the logit: here without shares "
        "of the biases. Accuracy without tokens needs labels, and is not here, nor are integrated "
        "gradients."
    )
    maps = ("globenc", "alti", "decompx", "prediction", "gradient_input", "leave_one_out")
    source = f"{DECOMPX}, Table 1"
    claims = tuple(
        Ahead(
            claim,
            first,
            second,
            "comprehensiveness",
            f"{DECOMPX_AOPC[first][:5]} and {DECOMPX_AOPC[second][:5]} of SST2 (Table 1)",
        )
        for claim, first, second in (
            ("DecompX finds what is needed better than ALTI", "prediction", "alti"),
            ("DecompX finds it better than GlobEnc", "prediction", "globenc"),
            ("DecompX finds it better than gradient × input", "prediction", "gradient_input"),
            ("ALTI finds it better than GlobEnc", "alti", "globenc"),
        )
    )
    tables = (
        MapTable("removal", "table-1", f"{DECOMPX}, Table 1", DECOMPX_AOPC),
        MapTable("agreement", "agreement", f"Beyond {DECOMPX}"),
    )
