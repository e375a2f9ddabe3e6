"""Papers on maps of tokens, whose settings say all of such a paper; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.corpora import SAMPLE_REVIEWS
from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import PaperSettings


@dataclass(frozen=True)
class Ahead:
    """Claim that one map is better than another.

    Attributes:
        claim: in a few words.
        first: the better map.
        second: the other.
        question: by which it is judged; the more, the better.
        published: what the paper has.
    """

    claim: str
    first: str
    second: str
    question: str
    published: str = "so in the paper; no number was at hand"


@dataclass(frozen=True)
class MapTable:
    """A table of such a paper.

    Attributes:
        shows: how far maps agree with gradients and with leaving tokens out (``agreement``), or
            what is lost without the tokens that they put first (``removal``).
        name: of the exhibit.
        source: where the paper has it.
        published: by map, the numbers of the paper in words.
    """

    shows: Literal["agreement", "removal"]
    name: str
    source: str
    published: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MapPaperSettings(PaperSettings):
    """Settings of a paper that asks which map of a text explains a prediction.

    Class variables say all of such a paper: its `name`; `maps`, those of the study that are
    compared; `claims`, what it concludes, and `source`, where; `tables`; and the `introduction` of
    its page.

    Attributes:
        max_examples: texts.
        max_length: tokens of a text, special ones included; longer texts are truncated.
        removal: removal of tokens: replace them by the ``mask`` token, delete them (``delete``), or
            exclude them from attention (``attention``). By default ``mask`` where there is one.
    """

    reads: ClassVar[tuple[str, ...]] = ("text",)
    models: ClassVar[tuple[str, ...]] = ("model",)
    head: ClassVar[str | None] = "any"
    embedded: ClassVar[str] = EMBEDDED_CLASSIFIER
    sample: ClassVar[Path] = SAMPLE_REVIEWS
    name: ClassVar[str]
    introduction: ClassVar[str]
    maps: ClassVar[tuple[str, ...]]
    source: ClassVar[str]
    claims: ClassVar[tuple[Ahead, ...]]
    tables: ClassVar[tuple[MapTable, ...]]

    max_examples: AtLeast1 = 60
    max_length: Annotated[int, Range(minimum=8)] = 40
    removal: Literal["mask", "delete", "attention"] | None = None


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


MAP_PAPERS: dict[str, type[MapPaperSettings]] = {
    each.name: each for each in (Abnar2020, Modarressi2022, Ferrando2022, Modarressi2023)
}
"""By name."""
