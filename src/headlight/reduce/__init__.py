"""Statistics over a corpus: streaming, mergeable, in float64, without torch."""

from headlight.reduce.base import Accumulator, Count, Moments, Pearson, Ratio
from headlight.reduce.intervals import share
from headlight.reduce.rank_correlation import RankCorrelation
from headlight.reduce.sample import KeyedSums, Sample, Strongest
from headlight.reduce.slots import Grouped, Histogram, Slots, of_sums
from headlight.reduce.tally import ACCUMULATORS, Tally, Tree

__all__ = [
    "ACCUMULATORS",
    "Accumulator",
    "Count",
    "Grouped",
    "Histogram",
    "KeyedSums",
    "Moments",
    "Pearson",
    "RankCorrelation",
    "Ratio",
    "Sample",
    "Slots",
    "Strongest",
    "Tally",
    "Tree",
    "of_sums",
    "share",
]
