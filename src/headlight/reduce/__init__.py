"""Statistics over a corpus: streaming, mergeable, in float64, without torch."""

from headlight.reduce.accumulator import Accumulator
from headlight.reduce.grouped import Grouped
from headlight.reduce.histogram import Histogram
from headlight.reduce.jackknife import share
from headlight.reduce.keyed_sums import KeyedSums
from headlight.reduce.merge_tree import Tree
from headlight.reduce.moments import Count, Moments, Ratio
from headlight.reduce.pearson import Pearson
from headlight.reduce.rank_correlation import RankCorrelation
from headlight.reduce.sample import Sample
from headlight.reduce.second_moment import SecondMoment
from headlight.reduce.slots import Slots, of_sums
from headlight.reduce.strongest import Strongest
from headlight.reduce.tally import ACCUMULATORS, Tally

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
    "SecondMoment",
    "Slots",
    "Strongest",
    "Tally",
    "Tree",
    "of_sums",
    "share",
]
