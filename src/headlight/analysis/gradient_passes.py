"""How often a model has to run for some measures: forward, and once more backward."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight.analysis.plan import required_attribution
from headlight.attribution_settings import AttributionSettings
from headlight.capture import Objective
from headlight.errors import UsageError
from headlight.measures import GRADIENT


@dataclass(frozen=True)
class Pass:
    """One pass of the model over a corpus.

    Attributes:
        measures: what is observed in it.
        objective: of a pass backward, the loss.
        attribution: how contributions are computed, if they are among the measures.
        folder: where what is half done is kept.
    """

    measures: tuple[str, ...]
    objective: Objective | None
    attribution: AttributionSettings | None
    folder: Path | None

    def signature(self) -> dict[str, Any]:
        """What this pass depends on besides what all passes do, as JSON."""
        return {
            "measures": list(self.measures),
            "objective": self.objective and dict(self.objective.settings()),
            "attribution": self.attribution and self.attribution.signature(),
        }


def passes(
    measures: Sequence[str],
    objective: Objective | None,
    attribution: AttributionSettings | None,
    folder: Path | None,
) -> list[Pass]:
    """One pass forward, and one backward: a loss may hide words, which the other must see.

    Raises:
        UsageError: the gradient is asked for, and there is no objective.
    """
    forward = tuple(measure for measure in measures if measure != GRADIENT)
    wanted = required_attribution(measures, attribution)
    found = [Pass(forward, None, wanted, folder)] if forward else []
    if GRADIENT in measures:
        if objective is None:
            raise UsageError("the gradient is that of a loss; give an objective.")
        found.append(Pass((GRADIENT,), objective, None, folder and folder / GRADIENT))
    return found
