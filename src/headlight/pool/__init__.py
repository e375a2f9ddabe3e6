"""Positions to categories, neighbourhoods and words, on the device where the scores are.

All but pairs is "multiply by a 0/1 membership matrix": keys are summed over, queries averaged over.
"""

from headlight.pool.categories import (
    Membership,
    mean_weights,
    membership,
    over_keys,
    over_queries,
    with_all,
)
from headlight.pool.neighbours import Beside, mean_to_neighbours, over_neighbours, to_neighbours
from headlight.pool.offsets import offsets_of, over_offsets
from headlight.pool.pairs import Groups, Pairs
from headlight.pool.words import WordPair, Words

__all__ = [
    "Beside",
    "Groups",
    "Membership",
    "Pairs",
    "WordPair",
    "Words",
    "mean_to_neighbours",
    "mean_weights",
    "membership",
    "offsets_of",
    "over_keys",
    "over_neighbours",
    "over_offsets",
    "over_queries",
    "to_neighbours",
    "with_all",
]
