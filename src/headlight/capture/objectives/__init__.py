"""What a model is trained for: the loss of which gradients are taken."""

from headlight.capture.objectives.masked import MaskedLanguageModel
from headlight.capture.objectives.next_token import CausalLanguageModel, SequenceToSequence
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
