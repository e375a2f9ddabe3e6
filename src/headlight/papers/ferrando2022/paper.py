"""ALTI (Ferrando et al. 2022)."""

from headlight.papers.exhibit import Paper
from headlight.papers.ferrando2022.settings import Settings
from headlight.papers.token_maps.claims import Ahead, findings
from headlight.papers.token_maps.tables import agreement, removal

BY = "Ferrando et al. (2022)"
ELSEWHERE = "as Modarressi et al. (2023) report"
AOPC = {
    "alti": "0.416 (SST2), 0.515 (MNLI), 0.355 (QNLI), 0.469 (HateXplain), " + ELSEWHERE,
    "globenc": "0.307 (SST2), " + ELSEWHERE,
    "gradient_input": "0.310 (SST2), " + ELSEWHERE,
}
"""From the table of another paper; those of this one were not at hand."""

CLAIMS = (
    Ahead("ALTI finds what is needed better than rollout", "alti", "rollout", "comprehensiveness"),
    Ahead(
        "ALTI finds it better than rollout of norms", "alti", "rollout_norm", "comprehensiveness"
    ),
    Ahead(
        "ALTI finds it better than GlobEnc",
        "alti",
        "globenc",
        "comprehensiveness",
        f"0.416 and 0.307 of SST2, {ELSEWHERE}",
    ),
    Ahead(
        "ALTI finds it better than gradient × input",
        "alti",
        "gradient_input",
        "comprehensiveness",
        f"0.416 and 0.310 of SST2, {ELSEWHERE}",
    ),
)

PAPER = Paper(
    name="ferrando2022",
    settings=Settings,
    introduction="Whether the distance of what a token gives from the whole, multiplied through "
    "the layers (ALTI), puts those tokens first without which a prediction changes. Its own "
    "numbers were not at hand; some of ALTI stand in a table of Modarressi et al. (2023).",
    exhibits=(
        findings(BY, CLAIMS),
        removal("removal", BY, AOPC),
        agreement("agreement", f"Beyond {BY}"),
    ),
)
