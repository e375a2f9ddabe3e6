"""A model at work on a corpus: batches run, observers look, and what they saw is merged."""

from headlight.observe.passes import observe
from headlight.observe.step import BATCH_TOKENS, LossObserver, Observer, Step

__all__ = ["BATCH_TOKENS", "LossObserver", "Observer", "Step", "observe"]
