"""*Measuring the Mixing of Contextual Information* (Ferrando et al. 2022)."""

from dataclasses import dataclass

from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings, MapTable

ALTI = "Ferrando et al. (2022)"
ELSEWHERE = "as Modarressi et al. (2023) report"
ALTI_AOPC = {
    "alti": "0.416 (SST2), 0.515 (MNLI), 0.355 (QNLI), 0.469 (HateXplain), " + ELSEWHERE,
    "globenc": "0.307 (SST2), " + ELSEWHERE,
    "gradient_input": "0.310 (SST2), " + ELSEWHERE,
}
"""From the table of another paper; those of this one were not at hand."""


@dataclass(frozen=True, kw_only=True)
class Ferrando2022(MapPaperSettings):
    """ALTI: *Measuring the Mixing of Contextual Information in the Transformer*."""

    name = "ferrando2022"
    title = (
        "Measuring the Mixing of Contextual Information in the Transformer (Ferrando et al. 2022)"
    )
    introduction = (
        "Whether the distance of what a token gives from the whole, multiplied through the layers "
        "(ALTI), puts those tokens first without which a prediction changes. Its own numbers were "
        "not at hand; some of ALTI stand in a table of Modarressi et al. (2023)."
    )
    maps = ("rollout", "rollout_norm", "globenc", "alti", "gradient_input", "leave_one_out")
    source = ALTI
    claims = tuple(
        Ahead(claim, "alti", second, "comprehensiveness", *published)
        for claim, second, *published in (
            ("ALTI finds what is needed better than rollout", "rollout"),
            ("ALTI finds it better than rollout of norms", "rollout_norm"),
            (
                "ALTI finds it better than GlobEnc",
                "globenc",
                f"0.416 and 0.307 of SST2, {ELSEWHERE}",
            ),
            (
                "ALTI finds it better than gradient × input",
                "gradient_input",
                f"0.416 and 0.310 of SST2, {ELSEWHERE}",
            ),
        )
    )
    tables = (
        MapTable("removal", "removal", ALTI, ALTI_AOPC),
        MapTable("agreement", "agreement", f"Beyond {ALTI}"),
    )
