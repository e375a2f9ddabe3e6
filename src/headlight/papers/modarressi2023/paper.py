"""DecompX (Modarressi et al. 2023): Table 1."""

from headlight.papers.exhibit import Paper
from headlight.papers.modarressi2023.settings import Settings
from headlight.papers.token_maps.claims import Ahead, findings
from headlight.papers.token_maps.tables import agreement, removal

BY = "Modarressi et al. (2023)"
TABLE_1 = {
    "globenc": "0.307 (SST2)",
    "alti": "0.416 (SST2), 0.515 (MNLI), 0.355 (QNLI), 0.469 (HateXplain)",
    "prediction": "0.627 (SST2), 0.703 (MNLI), 0.453 (QNLI), 0.612 (HateXplain)",
    "gradient_input": "0.310 (SST2)",
}
"""AOPC of classifiers, without 10 to 90% of the tokens, which become masks."""

CLAIMS = tuple(
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

PAPER = Paper(
    name="modarressi2023",
    settings=Settings,
    introduction="Which map puts those tokens first without which a prediction changes (Table 1). "
    "DecompX follows the vectors of tokens through the frozen layers to the logit: here without "
    "shares of the biases. Accuracy without tokens needs labels, and is not here, nor are "
    "integrated gradients.",
    exhibits=(
        findings(f"{BY}, Table 1", CLAIMS),
        removal("table-1", f"{BY}, Table 1", TABLE_1),
        agreement("agreement", f"Beyond {BY}"),
    ),
)
