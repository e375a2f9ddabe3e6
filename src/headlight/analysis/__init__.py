"""A model at work on a corpus: batches run, observers look, and what they saw is merged."""

from headlight.analysis.attribution import (
    attribution_signature,
    required_attribution,
    with_contributions,
)
from headlight.analysis.batch_runner import (
    BATCH_TOKENS,
    AttributionObserver,
    BatchRunner,
    LossObserver,
    Observer,
)
from headlight.analysis.passes import observe

__all__ = [
    "BATCH_TOKENS",
    "AttributionObserver",
    "BatchRunner",
    "LossObserver",
    "Observer",
    "attribution_signature",
    "observe",
    "required_attribution",
    "with_contributions",
]
