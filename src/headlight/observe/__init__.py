"""A model at work on a corpus: batches run, observers look, and what they saw is merged."""

from headlight.observe.attribution import (
    attribution_signature,
    demanded_attribution,
    with_contributions,
)
from headlight.observe.passes import observe
from headlight.observe.step import (
    BATCH_TOKENS,
    AttributionObserver,
    LossObserver,
    Observer,
    Step,
)

__all__ = [
    "BATCH_TOKENS",
    "AttributionObserver",
    "LossObserver",
    "Observer",
    "Step",
    "attribution_signature",
    "demanded_attribution",
    "observe",
    "with_contributions",
]
