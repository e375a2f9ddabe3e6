"""Settings of distances between heads."""

from dataclasses import dataclass
from typing import Annotated

from headlight.analysis.settings import MeasureSettings, TextSettings
from headlight.errors import UsageError
from headlight.measures import ATTRIBUTION
from headlight.settings import NO_EFFECT, AtLeast1, Range


@dataclass(frozen=True, kw_only=True)
class DistanceSettings(MeasureSettings, TextSettings):
    """By what, and how, heads are compared.

    Attributes:
        smoothing: the share of every row that is spread evenly over its keys; the authors' is
            0.001.
        batch_tokens: tokens in a batch, padding included; attention of all layers is held at once.
    """

    smoothing: Annotated[float, Range(minimum=0, below=1)] = 0.001
    batch_tokens: Annotated[AtLeast1, NO_EFFECT] = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if ATTRIBUTION in self.measures:
            raise UsageError(
                "contributions are of a layer and not of a head, so heads have no distance by "
                "them; leave 'attribution' out of the measures."
            )
