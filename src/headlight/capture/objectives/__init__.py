"""Training objectives of models: the loss of which gradients are taken."""

from headlight.capture.objectives.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    SequenceToSequence,
)
from headlight.capture.objectives.objective import (
    NOTHING,
    Objective,
    OwnObjective,
    Prepared,
    Reduction,
)

__all__ = [
    "NOTHING",
    "CausalLanguageModel",
    "MaskedLanguageModel",
    "Objective",
    "OwnObjective",
    "Prepared",
    "Reduction",
    "SequenceToSequence",
]
