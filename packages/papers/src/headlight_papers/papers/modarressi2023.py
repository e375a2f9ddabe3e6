"""*DecompX* (Modarressi et al. 2023): Table 1; without torch."""

from dataclasses import dataclass
from typing import ClassVar

from headlight_papers.papers.token_maps import Ahead, MapPaperSettings, MapTable

BY = "Modarressi et al. (2023)"
TABLE_1 = {
    "globenc": "0.307 (SST2)",
    "alti": "0.416 (SST2), 0.515 (MNLI), 0.355 (QNLI), 0.469 (HateXplain)",
    "prediction": "0.627 (SST2), 0.703 (MNLI), 0.453 (QNLI), 0.612 (HateXplain)",
    "gradient_input": "0.310 (SST2)",
}
"""AOPC of classifiers, without 10 to 90% of the tokens, which become masks."""


@dataclass(frozen=True, kw_only=True)
class Settings(MapPaperSettings):
    """Everything that the results depend on besides models and data."""

    title: ClassVar[str] = (
        "DecompX: Explaining Transformers Decisions by Propagating Token Decomposition "
        "(Modarressi et al. 2023)"
    )
    introduction: ClassVar[str] = (
        "Which map puts those tokens first without which a prediction changes (Table 1). DecompX "
        "follows the vectors of tokens through the frozen layers to the logit: here without shares "
        "of the biases. Accuracy without tokens needs labels, and is not here, nor are integrated "
        "gradients."
    )
    maps: ClassVar[tuple[str, ...]] = (
        "globenc",
        "alti",
        "decompx",
        "prediction",
        "gradient_input",
        "leave_one_out",
    )
    source: ClassVar[str] = f"{BY}, Table 1"
    claims: ClassVar[tuple[Ahead, ...]] = tuple(
        Ahead(
            claim,
            first,
            second,
            "comprehensiveness",
            f"{TABLE_1[first].split()[0]} and {TABLE_1[second].split()[0]} of SST2 (Table 1)",
        )
        for claim, first, second in (
            ("DecompX finds what is needed better than ALTI", "prediction", "alti"),
            ("DecompX finds it better than GlobEnc", "prediction", "globenc"),
            ("DecompX finds it better than gradient × input", "prediction", "gradient_input"),
            ("ALTI finds it better than GlobEnc", "alti", "globenc"),
        )
    )
    tables: ClassVar[tuple[MapTable, ...]] = (
        MapTable("removal", "table-1", f"{BY}, Table 1", TABLE_1),
        MapTable("agreement", "agreement", f"Beyond {BY}"),
    )
