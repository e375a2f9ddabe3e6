"""Distances between heads (Clark et al. 2019, Section 6)."""

from dataclasses import dataclass
from typing import Annotated

from headlight.catalogue import TEXT, Study
from headlight.errors import UsageError
from headlight.settings import AtLeast1, Range
from headlight.study_settings.measures import MeasureSettings
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import measure


@dataclass(frozen=True, kw_only=True)
class DistanceSettings(MeasureSettings, TextSettings):
    """Settings of the distances between heads.

    Attributes:
        smoothing: share of each row that is spread evenly over its keys, so that no weight is 0;
            0.001 in the authors' code.
        batch_tokens: tokens in a batch, padding included; memory holds the attention of all layers
            of a batch.
    """

    smoothing: Annotated[float, Range(minimum=0, below=1)] = 0.001
    batch_tokens: AtLeast1 = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.measures:
            if not measure(name).per_head:
                raise UsageError(
                    f"{name} is of a layer and not of a head, so heads have no distance by it; "
                    "leave it out of the measures."
                )


STUDY = Study(
    name="distances",
    title="distances between heads",
    question="compare heads with one another by where they attend",
    papers="Clark et al. 2019, Section 6",
    source=TEXT,
    settings=DistanceSettings,
    examples=(
        ("wiki/ --pairs --max-examples 992", "as Clark did"),
        ("wiki/ --measures weight,norm --layers 0-5", ""),
    ),
    order=4,
)
