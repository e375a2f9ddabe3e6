"""What attention does, as numbers: pure functions of captured tensors, and `Scores`, which asks them."""

from headlight.measures.effective import Effective as Effective, effective as effective
from headlight.measures.entropy import entropy as entropy
from headlight.measures.norm import (
    input_norm as input_norm,
    merged_norm as merged_norm,
    vector_norm as vector_norm,
    weighted_norm as weighted_norm,
)
from headlight.measures.scores import MEASURES as MEASURES, Scores as Scores, ValueBias as ValueBias
