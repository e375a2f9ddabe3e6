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
    """By which measures attention is looked at.

    Attributes:
        measures: measures of attention. ``gradient`` runs the model backward as well;
            ``attribution`` is one row for each layer, in the place of its first head.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in T of effective attention.
    """

    measures: Common[Annotated[tuple[str, ...], Names(measure_names)]] = MEASURES
    attribution: AttributionSettings | None = None
    value_bias: ValueBias = "include"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_measures(self.measures)

    @property
    def required_head(self) -> str:
        """Gradients need a loss."""
        return "language_model" if GRADIENT in self.measures else super().required_head

    def check_command(self) -> None:
        """Contributions are not told how to be computed where nobody asks for them."""
        super().check_command()
        check_attribution(self.attribution, self.measures)


def check_attribution(attribution: AttributionSettings | None, measures: tuple[str, ...]) -> None:
    """Refuse to say how contributions are computed where they are not among the measures.

    Raises:
        UsageError: it is said.
    """
    if attribution is not None and ATTRIBUTION not in measures:
        raise UsageError(
            "settings of contributions have no effect without them; add "
            f"attribution to {setting('measures')}."
        )
