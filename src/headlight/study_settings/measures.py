"""Settings of the measures of attention."""

from dataclasses import dataclass
from typing import Annotated

from headlight.errors import UsageError, setting
from headlight.settings import Common, Names, StudySettings
from headlight.settings.attribution import AttributionSettings
from headlight.vocabulary import (
    ATTRIBUTION,
    GRADIENT,
    MEASURES,
    ValueBias,
    check_measures,
    measure_names,
)


@dataclass(frozen=True, kw_only=True)
class MeasureSettings(StudySettings):
    """Settings of the measures of attention.

    Attributes:
        measures: measures of attention. ``gradient`` also runs the model backward;
            ``attribution`` belongs to whole layers, and stands in the place of their first heads.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in the matrix T of effective attention.
    """

    measures: Common[Annotated[tuple[str, ...], Names(measure_names)]] = MEASURES
    attribution: AttributionSettings | None = None
    value_bias: ValueBias = "include"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_measures(self.measures)

    @property
    def required_head(self) -> str | None:
        """Return the head of a language model if gradients are measured, which need a loss."""
        return "language_model" if GRADIENT in self.measures else super().required_head

    def check_command(self) -> None:
        """Refuse settings of contributions that are not among the measures."""
        super().check_command()
        check_attribution(self.attribution, self.measures)


def check_attribution(attribution: AttributionSettings | None, measures: tuple[str, ...]) -> None:
    """Refuse settings of contributions that are not among the measures.

    Args:
        attribution: Settings of contributions; None for the defaults.
        measures: Names of the measures.

    Raises:
        UsageError: the settings are without effect.
    """
    if attribution is not None and ATTRIBUTION not in measures:
        raise UsageError(
            "settings of contributions have no effect without them; add "
            f"attribution to {setting('measures')}."
        )
