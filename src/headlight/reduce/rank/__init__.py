"""Rank correlation over any number of pairs, in fixed memory, with a bound on its error."""

from headlight.reduce.rank.correlation import RESOLUTIONS, RankCorrelation
from headlight.reduce.rank.float_bins import FloatBins

__all__ = ["RESOLUTIONS", "FloatBins", "RankCorrelation"]
